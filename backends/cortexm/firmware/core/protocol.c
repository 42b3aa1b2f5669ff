#include "protocol.h"

#include <stdbool.h>
#include <string.h>

#include "inference.h"
#include "model.h"
#include "port.h"
#include "tensor.h"
#include "text.h"
#include "upload.h"

#define TEXT_OF(value) #value
#define NUMBER(value) TEXT_OF(value)

#define FIRMWARE "edgebench-cortexm 1"
#define DEFAULT_WARM_UPS 10

static char command[PROTOCOL_COMMAND_BYTES];
static size_t command_length; /* of what has come, which may be more than is kept */
static bool is_uploading;

static void put_error(const char *text)
{
    put("e-[");
    put(text);
    put_line("]");
}

static void put_bracketed(const char *name, const char *value)
{
    put(name);
    put("-[");
    put(value);
    put_line("]");
}

static void put_info(const char *name, const char *value)
{
    put("m-info-[");
    put(name);
    put("=");
    put(value);
    put_line("]");
}

static void put_info_number(const char *name, uint32_t value)
{
    put("m-info-[");
    put(name);
    put("=");
    put_unsigned(value);
    put_line("]");
}

/* The next word of a command, or NULL; `rest` moves behind it. */
static char *next_word(char **rest)
{
    char *start = *rest + strspn(*rest, " ");
    if (*start == '\0') {
        return NULL;
    }
    char *end = start + strcspn(start, " ");
    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return start;
}

/* As atoi, bounded: digits as far as they go, 0 without any; beyond 32 bits the nearest end. */
static int32_t number_of(const char *word)
{
    const bool is_negative = *word == '-';
    int64_t value = 0;
    for (word += *word == '-' || *word == '+'; *word >= '0' && *word <= '9'; ++word) {
        value = value * 10 + (*word - '0');
        if (value > INT32_MAX) {
            value = INT32_MAX;
        }
    }
    return (int32_t)(is_negative ? -value : value);
}

static void answer_name(char *rest)
{
    (void)rest;
    put_bracketed("m-name-dut", "edgebench");
}

static void answer_timestamp(char *rest)
{
    (void)rest;
    inference_stamp();
}

static void answer_profile(char *rest)
{
    (void)rest;
    static const char *const types[] = {"float32", "int8", "uint8"};
    put_bracketed("m-profile", FIRMWARE);
    /* Hosts that know the benchmark alone ignore the lines of infos. */
#ifdef BENCHMARK_ID
    put_bracketed("m-model", BENCHMARK_ID);
    put_info("model", MODEL_ID);
#else
    put_bracketed("m-model", MODEL_ID);
#endif
    const struct model_facts *facts = model_facts();
    put_info("board", port_board());
    put_info("engine", facts->engine);
    put_info("input-type", types[facts->input_type]);
    put_info_number("input-bytes", MODEL_INPUT_BYTES);
    put_info_number("scores", MODEL_SCORES);
    put_info_number("engine-bytes", facts->working_bytes);
    if (facts->resets) {
        put_info("state", "reset");
    }
    put_info_number("copy-us", inference_copy_us());
    put_info("timer", port_timer());
    put_info("reset", port_reset_reason());
}

static void answer_help(char *rest)
{
    (void)rest;
    put_line("name                 which device this is");
    put_line("timestamp            a stamp in microseconds, modulo 2^32");
    put_line("profile              firmware, model, engine");
    put_line("db load N            expect N bytes of input, as digits");
    put_line("db HH..              hex digits, two a byte");
    put_line("db bin N             expect N bytes of input, as frames: version=" NUMBER(UPLOAD_VERSION)
             " payload=" NUMBER(UPLOAD_PAYLOAD_BYTES) " window=" NUMBER(UPLOAD_WINDOW));
    put_line("db print             the input");
    put_line("infer N W            N inferences (1) after W warm-ups (10)");
    put_line("results              scores of the last inference");
}

/* The size that a load expects; false, with the error sent, where there is none that fits. */
static bool expect(const char *word, const char *name)
{
    if (word == NULL) {
        put("e-[Command '");
        put(name);
        put_line("' requires the # of bytes]");
        return false;
    }
    const int32_t bytes = number_of(word);
    const bool fits = tensor_expect(bytes > 0 ? (uint32_t)bytes : 0);
    if (bytes <= 0) {
        put("e-[Command '");
        put(name);
        put_line("' must be >0 bytes]");
    } else if (!fits) {
        put("e-[Supplied buffer size ");
        put_unsigned((uint32_t)bytes);
        put_line(" exceeds maximum of " NUMBER(MODEL_INPUT_BYTES) "]");
    } else {
        put("m-[Expecting ");
        put_unsigned((uint32_t)bytes);
        put_line(" bytes]");
        return true;
    }
    return false;
}

static void answer_load(char *rest)
{
    expect(next_word(&rest), "db load");
}

static void answer_binary_load(char *rest)
{
    is_uploading = expect(next_word(&rest), "db bin");
    if (is_uploading) {
        upload_begin();
    }
}

static void answer_print(char *rest)
{
    (void)rest;
    const uint8_t *bytes = tensor_bytes();
    for (size_t index = 0; index < tensor_expected(); ++index) {
        put(index % 8 == 0 ? "m-buffer-" : "-");
        put_hex_byte(bytes[index]);
        if (index % 8 == 7 || index + 1 == tensor_expected()) {
            put("\r\n");
        }
    }
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    const char lower = (char)(digit | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static void answer_digits(const char *digits)
{
    if (strlen(digits) % 2 != 0) {
        put_error("Insufficent number of hex digits"); /* so spelt by the benchmark */
        return;
    }
    for (; *digits != '\0'; digits += 2) {
        const int high = hex_value(digits[0]), low = hex_value(digits[1]);
        if (high < 0 || low < 0) {
            const char pair[3] = {digits[0], digits[1], '\0'};
            put("e-[Invalid hex digit '");
            put_quoted(pair);
            put_line("']");
            return;
        }
        const uint8_t byte = (uint8_t)(high << 4 | low);
        if (tensor_append(&byte, 1)) {
            put_line("m-load-done");
            return;
        }
    }
}

static void answer_infer(char *rest)
{
    const char *first = next_word(&rest);
    const char *second = next_word(&rest);
    const int32_t inferences = first == NULL ? 1 : number_of(first);
    const int32_t warm_ups = second == NULL ? DEFAULT_WARM_UPS : number_of(second);
    if (inferences <= 0) {
        put_error("Inference iterations must be >0");
    } else if (warm_ups < 0) {
        put_error("Inference warmup must be >=0");
    } else if ((uint32_t)inferences > PROTOCOL_MOST_INFERENCES
               || (uint32_t)warm_ups > PROTOCOL_MOST_INFERENCES) {
        put("e-[At most ");
        put_unsigned(PROTOCOL_MOST_INFERENCES);
        put_line(" inferences]");
    } else {
        inference_run((uint32_t)inferences, (uint32_t)warm_ups);
    }
}

static void answer_results(char *rest)
{
    (void)rest;
    inference_results();
}

struct entry {
    const char *word;
    void (*answer)(char *rest);
};

static const struct entry *find(const struct entry *entries, size_t count, const char *word)
{
    for (size_t index = 0; index < count; ++index) {
        if (strcmp(entries[index].word, word) == 0) {
            return &entries[index];
        }
    }
    return NULL;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void answer_db(char *rest)
{
    static const struct entry subcommands[] = {
        {"load", answer_load}, {"bin", answer_binary_load}, {"print", answer_print}};
    const char *word = next_word(&rest);
    if (word == NULL) {
        put_error("Command 'db' requires a subcommand");
        return;
    }
    const struct entry *entry = find(subcommands, COUNT(subcommands), word);
    if (entry == NULL) {
        answer_digits(word);
    } else {
        entry->answer(rest);
    }
}

static void answer_command(char *rest)
{
    static const struct entry commands[] = {
        {"name", answer_name},       {"timestamp", answer_timestamp}, {"profile", answer_profile},
        {"help", answer_help},       {"db", answer_db},               {"infer", answer_infer},
        {"results", answer_results},
    };
    const char *word = next_word(&rest);
    if (word == NULL) {
        return;
    }
    const struct entry *entry = find(commands, COUNT(commands), word);
    if (entry == NULL) {
        put("e-[Unknown command: ");
        put_quoted(word);
        put_line("]");
    } else {
        entry->answer(rest);
    }
}

void protocol_start(void)
{
    command_length = 0;
    is_uploading = false;
    inference_start();
    put_line(PROTOCOL_ENERGY_MODE ? "m-timestamp-mode-energy" : "m-timestamp-mode-performance");
    put_line("m-init-done");
    put_line("m-ready");
}

static void end_of_command(void)
{
    const size_t length = command_length;
    command_length = 0;
    if (length >= sizeof command) {
        put_error("Command exceeds " NUMBER(PROTOCOL_COMMAND_BYTES) " characters");
    } else {
        command[length] = '\0';
        answer_command(command);
    }
    if (!is_uploading) {
        put_line("m-ready");
    }
}

/* After a byte, or none, of an upload. */
static void upload_goes_on(bool goes_on)
{
    is_uploading = goes_on;
    if (!goes_on) {
        put_line("m-ready");
    }
}

void protocol_receive(uint8_t byte)
{
    if (is_uploading) {
        upload_goes_on(upload_receive(byte));
    } else if (byte == '%') {
        end_of_command();
    } else if (command_length < sizeof command) {
        command[command_length++] = byte == '\0' ? '?' : (char)byte;
    }
}

void protocol_wait(void)
{
    if (is_uploading) {
        upload_goes_on(upload_wait());
    }
}
