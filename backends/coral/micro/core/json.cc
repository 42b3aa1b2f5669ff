#include "json.h"

namespace edgebench {
namespace {

bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

bool is_hexadecimal(char character)
{
    return is_digit(character) || (character >= 'a' && character <= 'f') || (character >= 'A' && character <= 'F');
}

/* A place in the text; each method goes past what it names, or says that it is not there. */
class Scanner {
public:
    explicit Scanner(Text text) : text_(text) {}

    Text rest() const { return text_.substr(at_); }

    bool is_at_end() const { return at_ == text_.size(); }

    void space()
    {
        while (is(' ') || is('\t') || is('\n') || is('\r')) {
            ++at_;
        }
    }

    bool take(char character)
    {
        const bool is_there = is(character);
        at_ += is_there;
        return is_there;
    }

    bool string(Text &between)
    {
        if (!take('"')) {
            return false;
        }
        const size_t start = at_;
        while (!is_at_end() && text_[at_] != '"') {
            if (!(text_[at_] == '\\' ? escape() : plain())) {
                return false;
            }
        }
        between = text_.substr(start, at_ - start);
        return take('"');
    }

    bool value(Json &json, unsigned depth)
    {
        const size_t start = at_;
        bool is_sound;
        if (is('"')) {
            json.kind = Kind::string;
            return string(json.text);
        } else if (is('{') || is('[')) {
            json.kind = is('{') ? Kind::object : Kind::list;
            is_sound = depth > 0 && container(json.kind, depth - 1);
        } else if (is('t') || is('f')) {
            json.kind = Kind::boolean;
            is_sound = word(is('t') ? "true" : "false");
        } else if (is('n')) {
            json.kind = Kind::null;
            is_sound = word("null");
        } else {
            json.kind = Kind::number;
            is_sound = number();
        }
        json.text = text_.substr(start, at_ - start);
        return is_sound;
    }

    /* `"name" :` */
    bool member_name(Text &name)
    {
        if (!string(name)) {
            return false;
        }
        space();
        const bool is_there = take(':');
        space();
        return is_there;
    }

private:
    bool is(char character) const { return at_ < text_.size() && text_[at_] == character; }

    bool plain()
    {
        const bool is_plain = text_[at_] >= ' ' && (unsigned char)text_[at_] < 0x80;
        ++at_;
        return is_plain;
    }

    bool escape()
    {
        ++at_;
        if (is_at_end()) {
            return false;
        }
        const char kind = text_[at_++];
        if (kind != 'u') {
            return Text("\"\\/bfnrt").find(kind) != Text::npos;
        }
        for (unsigned digit = 0; digit < 4; ++digit, ++at_) {
            if (is_at_end() || !is_hexadecimal(text_[at_])) {
                return false;
            }
        }
        return true;
    }

    bool word(Text word)
    {
        const bool is_there = rest().substr(0, word.size()) == word;
        at_ += is_there ? word.size() : 0;
        return is_there;
    }

    bool digits()
    {
        const size_t start = at_;
        while (!is_at_end() && is_digit(text_[at_])) {
            ++at_;
        }
        return at_ > start;
    }

    bool number()
    {
        take('-');
        if (!take('0') && !digits()) {
            return false;
        }
        if (take('.') && !digits()) {
            return false;
        }
        if (take('e') || take('E')) {
            if (!take('+')) {
                take('-');
            }
            return digits();
        }
        return true;
    }

    bool container(Kind kind, unsigned depth)
    {
        const char end = kind == Kind::object ? '}' : ']';
        ++at_;
        space();
        if (take(end)) {
            return true;
        }
        do {
            space();
            Text name;
            Json item;
            if ((kind == Kind::object && !member_name(name)) || !value(item, depth)) {
                return false;
            }
            space();
        } while (take(','));
        return take(end);
    }

    Text text_;
    size_t at_ = 0;
};

} // namespace

Json parse_json(Text text)
{
    Scanner scanner(text);
    Json json;
    scanner.space();
    const bool is_sound = scanner.value(json, kJsonDepth);
    scanner.space();
    return is_sound && scanner.is_at_end() ? json : Json();
}

Items::Items(const Json &of) : has_names_(of.kind == Kind::object)
{
    if (of.kind == Kind::object || of.kind == Kind::list) {
        rest_ = of.text.substr(1);
    }
}

bool Items::next(Text &name, Json &value)
{
    Scanner scanner(rest_);
    scanner.space();
    scanner.take(',');
    scanner.space();
    name = Text();
    const bool is_there = (!has_names_ || scanner.member_name(name)) && scanner.value(value, kJsonDepth);
    rest_ = scanner.rest();
    return is_there;
}

bool whole_number(const Json &json, uint32_t &number)
{
    uint64_t value = 0;
    for (const char character : json.text) {
        value = value * 10 + (uint64_t)(character - '0');
        if (!is_digit(character) || value > UINT32_MAX) {
            return false;
        }
    }
    number = (uint32_t)value;
    return json.kind == Kind::number;
}

} // namespace edgebench
