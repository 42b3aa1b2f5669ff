#include "block.h"

#include <cstring>

namespace edgebench {

void Block::begin(Text sha256, size_t size)
{
    has_content_ = true;
    memcpy(sha256_, sha256.data(), sizeof sha256_);
    size_ = size;
    held_ = 0;
    hash_ = Sha256();
}

void Block::append(size_t size)
{
    hash_.update({next(), size});
    held_ += size;
}

bool Block::verify()
{
    char text[kSha256TextBytes];
    hash_.finish(text);
    return memcmp(text, sha256_, sizeof text) == 0;
}

void Block::drop()
{
    has_content_ = false;
    size_ = held_ = 0;
}

} // namespace edgebench
