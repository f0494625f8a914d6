#include "backend/stream/state/tiny_json.h"

#include <utility>

#include "backend/stream/state/segment_record.h"

namespace millrace::stream {
namespace {

class TinyParser {
 public:
    explicit TinyParser(std::string_view text) : text_(text) {}

    bool document(TinyJson& out) {
        if (!value(out, 0)) {
            return false;
        }
        skip();
        return at_ == text_.size();
    }

 private:
    // The parser recurses, and its input may be any file or text of a user: the depth bounds its
    // stack.
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

    bool number(std::int64_t& out) {
        const std::size_t from = at_;
        out = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            const int digit = text_[at_] - '0';
            // Checked before it is computed: a count beyond kMaxCount is an error, never a wrapped
            // number.
            if (out > (kMaxCount - digit) / 10) {
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
        char32_t code = 0;
        if (!codeUnit(code)) {
            return false;
        }
        // A surrogate pair (RFC 8259, section 7): a half alone is not a character.
        if (code >= 0xd800 && code < 0xe000) {  // half of a pair: the other half follows
            char32_t low = 0;
            const bool isPair = code < 0xdc00 && text_.substr(at_ + 1, 2) == "\\u" &&
                                (at_ += 2, codeUnit(low)) && low >= 0xdc00 && low < 0xe000;
            if (!isPair) {
                return false;
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        addUtf8(code, out);
        return true;
    }

    /// Reads `u` and four hex digits from at_ on; leaves at_ on the last one.
    bool codeUnit(char32_t& code) {
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
            code = code * 16 + static_cast<char32_t>(digit ? c - '0' : (c | 32) - 'a' + 10);
        }
        return true;
    }

    // UTF-8 by RFC 3629, section 3; code points end at 0x10ffff, which a surrogate pair cannot
    // exceed.
    static void addUtf8(char32_t code, std::string& out) {
        const auto tail = [&](int shift) {
            out += static_cast<char>(0x80 | (code >> shift & 0x3f));
        };
        if (code < 0x80) {
            out += static_cast<char>(code);
        } else if (code < 0x800) {
            out += static_cast<char>(0xc0 | code >> 6);
            tail(0);
        } else if (code < 0x10000) {
            out += static_cast<char>(0xe0 | code >> 12);
            tail(6);
            tail(0);
        } else {
            out += static_cast<char>(0xf0 | code >> 18);
            tail(12);
            tail(6);
            tail(0);
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

bool TinyJson::parse(std::string_view text, TinyJson& out) {
    return TinyParser(text).document(out);
}

const TinyJson* TinyJson::find(std::string_view name) const {
    for (const Member& member : members) {
        if (member.name == name) {
            return &member.value;
        }
    }
    return nullptr;
}

bool TinyJson::readCount(std::string_view name, std::int64_t& out) const {
    const TinyJson* value = find(name);
    if (value == nullptr || value->kind != Kind::kCount) {
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

bool TinyJson::readPair(std::int64_t& first, std::int64_t& second) const {
    if (items.size() != 2 || !items[0].isCount() || !items[1].isCount()) {
        return false;
    }
    first = items[0].count;
    second = items[1].count;
    return true;
}

TinyJsonMembers::TinyJsonMembers(const TinyJson& object) : object_(object) {
    if (object.kind != TinyJson::Kind::kObject) {
        wrong_ = "is not an object";
    }
}

const TinyJson& TinyJsonMembers::member(const char* name, TinyJson::Kind kind, const char* what) {
    // A reference that outlives the call: reads continue after an error, and wrong() keeps the
    // first one.
    static const TinyJson kNone;
    const TinyJson* value = object_.find(name);
    if (value != nullptr && value->kind == kind) {
        return *value;
    }
    if (wrong_.empty()) {
        wrong_ = std::string("'") + name + "' must be " + what;
    }
    return kNone;
}

std::int64_t TinyJsonMembers::count(const char* name) {
    return member(name, TinyJson::Kind::kCount, "a count").count;
}

std::int64_t TinyJsonMembers::countOr(const char* name, std::int64_t absent) {
    return object_.find(name) == nullptr ? absent : count(name);
}

std::string TinyJsonMembers::hash(const char* name) {
    constexpr const char* kWhat = "a hash of 32 hex digits";
    const std::string& text = member(name, TinyJson::Kind::kText, kWhat).text;
    const bool isHash =
        text.size() == 32 && text.find_first_not_of("0123456789abcdef") == text.npos;
    if (!isHash && wrong_.empty()) {
        wrong_ = std::string("'") + name + "' must be " + kWhat;
    }
    return text;
}

const TinyJson& TinyJsonMembers::list(const char* name) {
    return member(name, TinyJson::Kind::kList, "a list");
}

const TinyJson& TinyJsonMembers::object(const char* name) {
    return member(name, TinyJson::Kind::kObject, "an object");
}

TinyJsonText& TinyJsonText::member(const char* name, std::string_view json) {
    text_ += text_.empty() ? "\"" : ",\"";
    text_ += name;
    text_ += "\":";
    text_ += json;
    return *this;
}

TinyJsonText& TinyJsonText::count(const char* name, std::int64_t value) {
    return member(name, std::to_string(value));
}

TinyJsonText& TinyJsonText::text(const char* name, std::string_view value) {
    return member(name, quoteJson(value));
}

TinyJsonText& TinyJsonText::counts(const char* name,
                                   const std::map<std::string, std::int64_t>& values) {
    std::string object;
    for (const auto& [key, value] : values) {
        object += (object.empty() ? "" : ",") + quoteJson(key) + ":" + std::to_string(value);
    }
    return member(name, "{" + object + "}");
}

std::string quoteJson(std::string_view text) {
    constexpr std::string_view kFrom = "\"\\\b\f\n\r\t", kTo = "\"\\bfnrt";
    std::string out = "\"";
    for (const char c : text) {
        if (const std::size_t i = kFrom.find(c); i != kFrom.npos) {
            out += '\\';
            out += kTo[i];
            // RFC 8259, section 7: control characters must be escaped; all other bytes pass
            // unchanged.
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

}  // namespace millrace::stream
