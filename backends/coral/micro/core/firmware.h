/*
 * The firmware's side of EdgeBench's protocol for a Coral Dev Board Micro, version 1: JSON-RPC bodies in, answers out.
 * README.md beside this folder has the methods and the errors.
 */
#ifndef EDGEBENCH_FIRMWARE_H
#define EDGEBENCH_FIRMWARE_H

#include "answer.h"
#include "block.h"
#include "board.h"
#include "call.h"
#include "engine.h"
#include "patches.h"

namespace edgebench {

constexpr size_t kPieceBytes = 32768;

/* The longest body: a piece in base64, and the words around it. Longer ones are refused before they are read. */
constexpr size_t kMostBodyBytes = kPieceBytes * 4 / 3 + 1024;

/* The least that an answer's memory may have: every answer but those of `run` and `predict` fits. */
constexpr size_t kLeastAnswerBytes = 2048;

/* What the firmware works in; it allocates nothing. */
struct Memory {
    Room model;
    Room scene;
    Room images;
    Room records; /* stamps and scores of a pass, before they are written as base64 */
    size_t arena_bytes; /* the engine's own, as `describe` tells it */
};

class Firmware {
public:
    Firmware(Board &board, Engine &engine, const Memory &memory);

    /* Answers one body; returns how many bytes of `room`, which has kLeastAnswerBytes or more, the answer takes. */
    size_t handle(Text body, Room room);

private:
    Error dispatch(const Call &call, Answer &answer);

    Error describe(const Params &params, Answer &answer); /* describe.cc */
    void put_model(Answer &answer);

    Error load(const Params &params, Answer &answer); /* load.cc */
    Block *find_block(const Json &name); /* nullptr: none of that name */
    Error begin(Block &block, Text sha256, const Params &params);
    Error take_piece(Block &block, Text sha256, const Params &params);
    Error finish(Block &block);
    const char *make_ready();

    Error run(const Params &params, Answer &answer); /* passes.cc */
    Error predict(const Params &params, Answer &answer);
    Error take_count(const Params &params, const Block &block, size_t stamp_bytes, size_t answer_bytes,
                     uint32_t &n);

    Board &board_;
    Engine &engine_;
    Block model_;
    Block scene_;
    Block images_;
    Room records_;
    size_t arena_bytes_;
    ModelFacts facts_ = {}; /* while model_ is whole */
    PixelTable table_ = {};
};

} // namespace edgebench

#endif
