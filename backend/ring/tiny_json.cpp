#include "backend/ring/tiny_json.h"

#include <utility>

namespace millrace::ring {
namespace {

class Parser {
 public:
    explicit Parser(std::string_view text) : text_(text) {}

    bool document(TinyJson& out) {
        if (!value(out, 0)) {
            return false;
        }
        skip();
        return at_ == text_.size();
    }

 private:
    static constexpr int kMaxDepth = 16;

    void skip() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) {
            ++at_;
        }
    }
    bool take(char c) {
        skip();
        if (at_ >= text_.size() || text_[at_] != c) {
            return false;
        }
        ++at_;
        return true;
    }
    bool word(std::string_view expected) {
        if (text_.substr(at_, expected.size()) != expected) {
            return false;
        }
        at_ += expected.size();
        return true;
    }

    bool value(TinyJson& out, int depth) {
        skip();
        if (at_ >= text_.size() || depth > kMaxDepth) {
            return false;
        }
        switch (text_[at_]) {
            case '{':
                return object(out, depth);
            case '[':
                return list(out, depth);
            case '"':
                out.kind = TinyJson::Kind::kText;
                return string(out.text);
            case 't':
            case 'f':
                out.kind = TinyJson::Kind::kBool;
                out.count = text_[at_] == 't' ? 1 : 0;
                return word(out.count == 1 ? "true" : "false");
            case 'n':
                return word("null");
            default:
                out.kind = TinyJson::Kind::kCount;
                return number(out.count);
        }
    }

    bool object(TinyJson& out, int depth) {
        out.kind = TinyJson::Kind::kObject;
        ++at_;
        if (take('}')) {
            return true;
        }
        do {
            skip();
            TinyJson::Member member;
            if (!string(member.name) || !take(':') || !value(member.value, depth + 1)) {
                return false;
            }
            out.members.push_back(std::move(member));
        } while (take(','));
        return take('}');
    }

    bool list(TinyJson& out, int depth) {
        out.kind = TinyJson::Kind::kList;
        ++at_;
        if (take(']')) {
            return true;
        }
        do {
            TinyJson item;
            if (!value(item, depth + 1)) {
                return false;
            }
            out.items.push_back(std::move(item));
        } while (take(','));
        return take(']');
    }

    bool number(std::uint64_t& out) {
        const std::size_t from = at_;
        out = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
            if (out > (UINT64_MAX - digit) / 10) {
                return false;
            }
            out = out * 10 + digit;
        }
        return at_ > from;
    }

    bool string(std::string& out) {
        if (at_ >= text_.size() || text_[at_] != '"') {
            return false;
        }
        for (++at_; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '"') {
                ++at_;
                return true;
            }
            if (c == '\\') {
                ++at_;
                if (!escape(out)) {
                    return false;
                }
            } else {
                out += c;
            }
        }
        return false;
    }

    bool escape(std::string& out) {
        constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
        if (at_ >= text_.size()) {
            return false;
        }
        if (const std::size_t i = kFrom.find(text_[at_]); i != kFrom.npos) {
            out += kTo[i];
            return true;
        }
        unsigned code = 0;
        if (text_[at_] != 'u' || at_ + 4 >= text_.size()) {
            return false;
        }
        for (int i = 0; i < 4; ++i) {
            const char c = text_[++at_];
            const bool digit = c >= '0' && c <= '9';
            const bool letter = (c | 32) >= 'a' && (c | 32) <= 'f';
            if (!digit && !letter) {
                return false;
            }
            code = code * 16 + static_cast<unsigned>(digit ? c - '0' : (c | 32) - 'a' + 10);
        }
        // Beyond ASCII only messages for people arrive; they come as UTF-8, not as escapes.
        out += code < 0x80 ? static_cast<char>(code) : '?';
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

bool TinyJson::parse(std::string_view text, TinyJson& out) {
    return Parser(text).document(out);
}

const TinyJson* TinyJson::find(std::string_view name) const {
    for (const Member& member : members) {
        if (member.name == name) {
            return &member.value;
        }
    }
    return nullptr;
}

bool TinyJson::readCount(std::string_view name, std::uint64_t& out) const {
    const TinyJson* value = find(name);
    if (value == nullptr || value->kind != Kind::kCount || value->count > (UINT64_MAX >> 2)) {
        return false;
    }
    out = value->count;
    return true;
}

bool TinyJson::readText(std::string_view name, std::string& out) const {
    const TinyJson* value = find(name);
    if (value == nullptr || value->kind != Kind::kText) {
        return false;
    }
    out = value->text;
    return true;
}

std::string quoteJson(std::string_view text) {
    constexpr std::string_view kFrom = "\"\\\b\f\n\r\t", kTo = "\"\\bfnrt";
    std::string out = "\"";
    for (const char c : text) {
        if (const std::size_t i = kFrom.find(c); i != kFrom.npos) {
            out += '\\';
            out += kTo[i];
        } else if (static_cast<unsigned char>(c) < 0x20) {
            constexpr char kHex[] = "0123456789abcdef";
            out += "\\u00";
            out += kHex[c >> 4];
            out += kHex[c & 15];
        } else {
            out += c;
        }
    }
    return out + '"';
}

}  // namespace millrace::ring
