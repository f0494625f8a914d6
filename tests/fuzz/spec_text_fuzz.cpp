// libFuzzer target: a spec's YAML text with base and variations, converted to canonical JSON and
// back.
#include <cstdlib>
#include <string>
#include <string_view>

#include "backend/spec/bind.h"
#include "backend/spec/spec_reader.h"

using millrace::Json;
using millrace::spec::RunSpec;

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

millrace::expr::Schema ratings() {
    millrace::expr::Schema schema;
    for (const char* name : {"userId", "movieId", "timestamp"}) {
        schema.fields.push_back({name, millrace::expr::parseType("int64").value()});
    }
    schema.fields.push_back({"rating", millrace::expr::parseType("double").value()});
    return schema;
}

/// A spec has one JSON: reading that back gives the same text.
void checkRoundTrip(const RunSpec& spec) {
    const Json json = spec.toJson();
    const auto again = RunSpec::fromJson(json);
    require(again.ok());
    require(again->toJson() == json);
}

void checkResolved(millrace::spec::ResolvedSpec read) {
    require(read.ok() == read.errors.empty());
    if (!read.ok()) {
        return;
    }
    checkRoundTrip(*read.spec);
    const auto tables =
        [](const millrace::spec::TableRef&) -> millrace::Result<millrace::expr::Schema> {
        return ratings();
    };
    millrace::spec::bindSchema(*read.spec, ratings(), tables);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    millrace::spec::SpecErrors errors;
    const auto reader = millrace::spec::SpecReader::parse(text, {}, errors);
    require(reader.has_value() == errors.empty());
    if (!reader) {
        return 0;
    }
    checkResolved(reader->resolve());
    for (std::size_t i = 0; i < reader->variations().size() && i < 3; ++i) {
        checkResolved(reader->resolve(reader->variations()[i]));
    }
    return 0;
}
