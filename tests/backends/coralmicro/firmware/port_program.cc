/*
 * The port's server and packages with a stand-in for coralmicro, called as lwIP and TFLM call them. Ends with 1 and says
 * where, if one does something else than is due.
 */
#include <cstdio>
#include <string>
#include <thread>

#include "core/firmware.h"
#include "mean_engine.h"
#include "ports/coralmicro/call_server.h"
#include "ports/coralmicro/edgetpu_packages.h"

#define DUE(condition) \
    ((condition) ? (void)0 : (fprintf(stderr, "line %d: not %s\n", __LINE__, #condition), exit(1)))

namespace {

using namespace edgebench;

class QuietBoard final : public Board {
public:
    Identity identity() override { return {"stand-in", "", "", "", ""}; }
    uint32_t microseconds() override { return 1; }
    bool temperature_c(float &) override { return false; }
};

const std::string kCall = R"({"jsonrpc":"2.0","id":7,"method":"describe","params":[{}]})";
constexpr size_t kRoom = 200; /* of a body */
int pbufs_made;

/* What lwIP does with one connection; `this` is its name. */
struct Connection {
    CallServer &server;
    char answer_name[64] = "";

    err_t begin(int length, const char *uri = "/jsonrpc")
    {
        u8_t window = 1;
        return server.PostBegin(this, uri, "", 0, length, answer_name, sizeof answer_name, &window);
    }

    err_t receive(const std::string &bytes)
    {
        ++pbufs_made;
        return server.PostReceiveData(this, new pbuf{{bytes.begin(), bytes.end()}, (u16_t)bytes.size()});
    }

    /* The answer, or "" where there is none. */
    std::string finish()
    {
        answer_name[0] = '\0';
        server.PostFinished(this, answer_name, sizeof answer_name);
        fs_file file;
        if (answer_name[0] == '\0' || server.FsOpenCustom(&file, answer_name) == 0) {
            return "";
        }
        const std::string answer(file.data, (size_t)file.len);
        DUE(file.index == file.len && file.flags == FS_FILE_FLAGS_HEADER_PERSISTENT);
        server.FsCloseCustom(&file);
        return answer;
    }

    std::string exchange()
    {
        DUE(begin((int)kCall.size()) == ERR_OK);
        DUE(receive(kCall.substr(0, 10)) == ERR_OK && receive(kCall.substr(10)) == ERR_OK);
        return finish();
    }
};

bool is_answer(const std::string &text)
{
    return text.rfind("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"firmware\"", 0) == 0 && text.back() == '}';
}

void try_server(CallServer &server)
{
    Connection first{server}, second{server};
    DUE(is_answer(first.exchange()) && is_answer(second.exchange()));

    /* What is no call, or longer than its room, is refused before a byte of it comes. */
    DUE(first.begin(10, "/index.html") == ERR_ARG);
    DUE(first.begin((int)kRoom + 1) == ERR_ARG && first.begin(-1) == ERR_ARG && first.begin((int)kRoom) == ERR_OK);
    DUE(first.receive(std::string(kRoom, ' ')) == ERR_OK);
    DUE(first.finish().find("-32700") != std::string::npos);
    DUE(first.begin(0) == ERR_OK && first.receive("") == ERR_OK);
    DUE(first.finish().find("-32700") != std::string::npos);

    /* Longer than it said. */
    DUE(first.begin(4) == ERR_OK && first.receive("{}") == ERR_OK && first.receive("{} ") == ERR_ARG);
    DUE(first.finish().empty() && is_answer(second.exchange()));

    /* A connection that ends early, said so or not. */
    DUE(first.begin(50) == ERR_OK && first.receive("{") == ERR_OK && first.finish().empty());
    DUE(is_answer(second.exchange()));
    DUE(first.begin(50) == ERR_OK && first.receive("{") == ERR_OK);
    DUE(is_answer(second.exchange()));
    DUE(first.receive("}") == ERR_ARG && first.finish().empty());

    /* While an answer is on its way none begins, and it stays as it is. */
    DUE(first.begin((int)kCall.size()) == ERR_OK && first.receive(kCall) == ERR_OK);
    server.PostFinished(&first, first.answer_name, sizeof first.answer_name);
    fs_file file, other;
    DUE(server.FsOpenCustom(&file, "/index.html") == 0);
    DUE(server.FsOpenCustom(&file, first.answer_name) == 1);
    DUE(server.FsOpenCustom(&other, first.answer_name) == 0);
    DUE(second.begin(10) == ERR_ARG);
    DUE(is_answer(std::string(file.data, (size_t)file.len)));
    server.FsCloseCustom(&file);
    DUE(server.FsOpenCustom(&file, first.answer_name) == 0);
    DUE(is_answer(second.exchange()));
}

void try_packages()
{
    static char memory[8192];
    const std::string hashes[] = {std::string(64, 'a'), std::string(64, 'b'), std::string(64, 'c')};
    const auto start = [&](const std::string &hash, size_t place, char content) {
        memory[place] = content;
        expect_packages_of(hash);
        return static_cast<std::string *>(edgetpu_operator()->init(nullptr, memory + place, 1));
    };
    DUE(*start(hashes[0], 0, 'A') == "A" && !has_package_conflict());
    DUE(start(hashes[1], 0, 'B') == nullptr && has_package_conflict());
    DUE(*start(hashes[1], 16, 'B') == "B" && !has_package_conflict());
    DUE(*start(hashes[0], 0, 'A') == "A" && *start(hashes[1], 16, 'B') == "B");
    expect_packages_of(hashes[0]);
    DUE(edgetpu_operator()->init(nullptr, nullptr, 1) == nullptr && !has_package_conflict());
    DUE(edgetpu_operator()->init(nullptr, memory + 32, 0) == nullptr && !has_package_conflict());
    size_t place = 32;
    while (start(hashes[2], place, 'C') != nullptr) {
        place += 16;
    }
    DUE(are_packages_full() && !has_package_conflict() && place == 64 * 16);
    DUE(*start(hashes[1], 16, 'B') == "B" && !are_packages_full());
}

} // namespace

int main()
{
    try_packages();
    static QuietBoard board;
    static MeanEngine engine;
    static uint8_t body[kRoom], answer[2048], rest[16];
    static Firmware firmware(board, engine, {{rest, 16}, {rest, 16}, {rest, 16}, {rest, 16}, 16});
    static CallServer server({body, sizeof body}, {answer, sizeof answer});
    std::thread([] { server.serve(firmware); }).detach();
    try_server(server);
    DUE(pbufs_freed == pbufs_made && pbufs_made > 10);
    _Exit(0); /* the server's thread waits for ever */
}
