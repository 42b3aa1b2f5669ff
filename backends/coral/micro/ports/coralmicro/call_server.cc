#include "call_server.h"

#include <cstdio>
#include <cstring>

#include "libs/base/check.h"
#include "libs/base/led.h"

namespace edgebench {
namespace {

constexpr char kCallUri[] = "/jsonrpc";
constexpr char kAnswerName[] = "/jsonrpc/answer.json";

} // namespace

CallServer::CallServer(Room body, Room answer)
    : body_(body), answer_(answer), call_is_whole_(xSemaphoreCreateBinary()), answer_is_ready_(xSemaphoreCreateBinary())
{
    CHECK(call_is_whole_ != nullptr && answer_is_ready_ != nullptr);
}

void CallServer::serve(Firmware &firmware)
{
    for (;;) {
        xSemaphoreTake(call_is_whole_, portMAX_DELAY);
        coralmicro::LedSet(coralmicro::Led::kUser, true);
        answered_ = firmware.handle(Text(reinterpret_cast<const char *>(body_.data), received_), answer_);
        coralmicro::LedSet(coralmicro::Led::kUser, false);
        xSemaphoreGive(answer_is_ready_);
    }
}

/*
 * An answer that is on its way is not written over. A body that is on its way gives way to a new one: lwIP does not say
 * when its connection was reset, and a host has one call at a time.
 */
err_t CallServer::PostBegin(void *connection, const char *uri, const char *, u16_t, int content_len, char *, u16_t,
                            u8_t *)
{
    if (strcmp(uri, kCallUri) != 0 || is_sending_ || content_len < 0 || (size_t)content_len > body_.size) {
        return ERR_ARG; /* which lwIP answers with 404 */
    }
    connection_ = connection;
    expected_ = (size_t)content_len;
    received_ = 0;
    return ERR_OK;
}

err_t CallServer::PostReceiveData(void *connection, struct pbuf *p)
{
    const bool is_expected = connection == connection_ && p->tot_len <= expected_ - received_;
    if (is_expected) {
        received_ += pbuf_copy_partial(p, body_.data + received_, p->tot_len, 0);
    } else if (connection == connection_) {
        connection_ = nullptr; /* longer than it said */
    }
    pbuf_free(p);
    return is_expected ? ERR_OK : ERR_ARG;
}

/* Also called where the connection has ended early: then the body is not whole, and nothing is answered. */
void CallServer::PostFinished(void *connection, char *response_uri, u16_t response_uri_len)
{
    if (connection != connection_) {
        return;
    }
    connection_ = nullptr;
    if (received_ == expected_) {
        xSemaphoreGive(call_is_whole_);
        xSemaphoreTake(answer_is_ready_, portMAX_DELAY);
        snprintf(response_uri, response_uri_len, "%s", kAnswerName);
    }
}

int CallServer::FsOpenCustom(struct fs_file *file, const char *name)
{
    if (answered_ == 0 || is_sending_ || strcmp(name, kAnswerName) != 0) {
        return HttpServer::FsOpenCustom(file, name);
    }
    memset(file, 0, sizeof *file);
    file->data = reinterpret_cast<const char *>(answer_.data);
    file->len = (int)answered_;
    file->index = file->len; /* all of it is in memory */
    file->flags = FS_FILE_FLAGS_HEADER_PERSISTENT; /* with its Content-Length */
    is_sending_ = true;
    return 1;
}

void CallServer::FsCloseCustom(struct fs_file *file)
{
    if (file->data != reinterpret_cast<const char *>(answer_.data)) {
        HttpServer::FsCloseCustom(file);
        return;
    }
    answered_ = 0;
    is_sending_ = false;
}

} // namespace edgebench
