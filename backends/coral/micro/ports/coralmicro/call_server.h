/*
 * POST /jsonrpc on coralmicro's HTTP server, one call at a time.
 *
 * lwIP calls the methods from its own thread, whose stack is too small for TFLM. So a call whose body is whole is handled
 * by the thread that is in `serve`, and lwIP's waits for it: while patches are timed no packet is.
 */
#ifndef EDGEBENCH_CALL_SERVER_H
#define EDGEBENCH_CALL_SERVER_H

#include <string> /* which http_server.h takes for granted */

#include "core/firmware.h"
#include "libs/base/http_server.h"
#include "third_party/freertos_kernel/include/FreeRTOS.h"
#include "third_party/freertos_kernel/include/semphr.h"

namespace edgebench {

class CallServer final : public coralmicro::HttpServer {
public:
    CallServer(Room body, Room answer);

    /* Handles calls for ever. */
    [[noreturn]] void serve(Firmware &firmware);

    err_t PostBegin(void *connection, const char *uri, const char *http_request, u16_t http_request_len,
                    int content_len, char *response_uri, u16_t response_uri_len, u8_t *post_auto_wnd) override;
    err_t PostReceiveData(void *connection, struct pbuf *p) override;
    void PostFinished(void *connection, char *response_uri, u16_t response_uri_len) override;
    int FsOpenCustom(struct fs_file *file, const char *name) override;
    void FsCloseCustom(struct fs_file *file) override;

private:
    Room body_;
    Room answer_;
    void *connection_ = nullptr; /* whose body is being received */
    size_t expected_ = 0;
    size_t received_ = 0;
    size_t answered_ = 0; /* bytes of an answer that waits to be sent */
    bool is_sending_ = false;
    SemaphoreHandle_t call_is_whole_;
    SemaphoreHandle_t answer_is_ready_;
};

} // namespace edgebench

#endif
