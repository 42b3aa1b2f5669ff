/* lwIP's HTTP server as an application sees it: who calls what is up to the test. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

using err_t = int;
using u8_t = uint8_t;
using u16_t = uint16_t;
constexpr err_t ERR_OK = 0;
constexpr err_t ERR_ARG = -16;
constexpr u8_t FS_FILE_FLAGS_HEADER_PERSISTENT = 2;

struct fs_file {
    const char *data;
    int len;
    int index;
    void *pextension;
    u8_t flags;
};

struct pbuf {
    std::vector<uint8_t> bytes;
    u16_t tot_len;
};

inline int pbufs_freed;

inline u16_t pbuf_copy_partial(const pbuf *p, void *to, u16_t size, u16_t offset)
{
    std::copy_n(p->bytes.data() + offset, size, static_cast<uint8_t *>(to));
    return size;
}

inline void pbuf_free(pbuf *p)
{
    ++pbufs_freed;
    delete p;
}

namespace coralmicro {

class HttpServer {
public:
    virtual ~HttpServer() = default;
    virtual err_t PostBegin(void *, const char *, const char *, u16_t, int, char *, u16_t, u8_t *) { return ERR_ARG; }
    virtual err_t PostReceiveData(void *, pbuf *) { return ERR_ARG; }
    virtual void PostFinished(void *, char *, u16_t) {}
    virtual int FsOpenCustom(fs_file *, const char *) { return 0; }
    virtual void FsCloseCustom(fs_file *) {}
};

} // namespace coralmicro
