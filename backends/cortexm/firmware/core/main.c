#include "port.h"
#include "protocol.h"

int main(void)
{
    port_start();
    protocol_start();
    for (;;) {
        uint8_t byte;
        if (port_read(&byte)) {
            protocol_receive(byte);
        } else {
            protocol_wait();
        }
    }
}
