#pragma once
// Values as YAML on one line, as people write it. Private to spec. Threads: pure.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/key_table.h"
#include "backend/spec/table_ref.h"
#include "backend/text/json.h"
#include "backend/text/text.h"

namespace millrace::spec {

struct NamedExpr;

/// Whole numbers below 1e15 have no decimal point.
std::string plainNumber(double number);

/// "[a, b]".
std::string yamlList(const std::vector<std::string>& items);

/// `{name: expression, ...}`.
std::string yamlNamed(const std::vector<NamedExpr>& columns);

/// `{key: value, ...}`, in the order of the calls.
class YamlMembers {
 public:
    YamlMembers& text(std::string_view key, const std::string& value) {
        return raw(key, yamlScalar(value, true));
    }
    YamlMembers& textUnless(std::string_view key, const std::string& value,
                            std::string_view fallback = "") {
        return value == fallback ? *this : text(key, value);
    }
    YamlMembers& raw(std::string_view key, const std::string& value) {
        strAppend(&body_, body_.empty() ? "" : ", ", key, ": ", value);
        return *this;
    }
    YamlMembers& list(std::string_view key, const std::vector<std::string>& items) {
        return items.empty() ? *this : raw(key, yamlList(items));
    }
    std::string done() const { return "{" + body_ + "}"; }

 private:
    std::string body_;
};

/// The visitor of yamlChanges().
template <class S>
class YamlWriter {
 public:
    YamlWriter(const S& from, const S& usual, bool quotes)
        : from_(from), usual_(usual), quotes_(quotes) {}

    void operator()(std::string_view name, auto member, std::string_view /*doc*/,
                    const KeyLimits& limits = {}) {
        if (limits.isRequired || from_.*member != usual_.*member) {
            out_.raw(name, text(from_.*member, quotes_ && limits.choices.empty()));
        }
    }
    void choice(std::string_view name, bool S::* member, std::string_view yes, std::string_view no,
                std::string_view /*doc*/) {
        if (from_.*member != usual_.*member) {
            out_.raw(name, std::string(from_.*member ? yes : no));
        }
    }
    std::string done() const { return out_.done(); }

 private:
    static std::string text(const std::string& value, bool quotes) {
        return quotes ? dumpJson(value) : yamlScalar(value, true);
    }
    static std::string text(const std::vector<std::string>& values, bool /*quotes*/) {
        return yamlList(values);
    }
    static std::string text(const std::map<std::string, std::string>& values, bool /*quotes*/) {
        YamlMembers members;
        for (const auto& [name, value] : values) {
            members.text(yamlScalar(name, true), value);
        }
        return members.done();
    }
    static std::string text(const auto& value, bool /*quotes*/) { return dumpJson(Json(value)); }

    const S& from_;
    const S& usual_;
    bool quotes_;
    YamlMembers out_;
};

/// `{key: value, ...}`: the keys that are required or differ from `usual`. `quotes`: texts are in
/// quotes, words are not.
template <class S>
std::string yamlChanges(const S& from, const S& usual, bool quotes = false) {
    YamlWriter<S> writer(from, usual, quotes);
    S::listKeys(writer);
    return writer.done();
}

/// `table.csv` on one line: what differs from how files of these names are read; "{}" where nothing
/// does.
std::string csvText(const TableRef& table);

}  // namespace millrace::spec
