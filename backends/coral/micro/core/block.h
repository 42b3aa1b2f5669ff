/* Memory that is filled in pieces with the content of a known hash: a model, or patches. */
#ifndef EDGEBENCH_BLOCK_H
#define EDGEBENCH_BLOCK_H

#include "bytes.h"
#include "sha256.h"

namespace edgebench {

class Block {
public:
    explicit Block(Room room) : room_(room) {}

    size_t room() const { return room_.size; }
    size_t held() const { return held_; }
    size_t size() const { return size_; }
    bool is_whole() const { return has_content_ && held_ == size_; }
    Text sha256() const { return Text(sha256_, has_content_ ? sizeof sha256_ : 0); }
    Bytes bytes() const { return {room_.data, held_}; }

    /* Whether this is the content that is here, whole or in part. */
    bool is(Text sha256, size_t size) const { return sha256 == this->sha256() && size == size_; }

    /* Expects new content from its start; 0 < size <= room(), and the hash is one. */
    void begin(Text sha256, size_t size);

    /* Where the next bytes go; they count after `append`. */
    uint8_t *next() { return room_.data + held_; }
    void append(size_t size);

    /* Whether the bytes have the hash that was said; once, when the block is whole. */
    bool verify();

    void drop();

private:
    Room room_;
    bool has_content_ = false;
    char sha256_[kSha256TextBytes];
    size_t size_ = 0;
    size_t held_ = 0;
    Sha256 hash_; /* of what is held: taken along, so that the last piece takes no longer than the others */
};

} // namespace edgebench

#endif
