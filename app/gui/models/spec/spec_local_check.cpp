#include "app/gui/models/spec/spec_local_check.h"

#include <algorithm>

#include "backend/spec/spec_reader.h"

namespace millrace::gui {
namespace {

constexpr std::size_t kErrorsMax = 100;

void take(const spec::SpecErrors& errors, const values::SpecSource& source, LocalCheck& out) {
    for (const spec::SpecError& error : errors) {
        if (out.errors.size() < kErrorsMax) {
            out.errors.push_back(
                {error.message, error.code, source.fileName, error.path, error.line, error.column});
        }
    }
}

}  // namespace

LocalCheck checkOneLocally(const values::SpecSource& source, const std::string& variation) {
    LocalCheck out;
    spec::SpecOptions options;
    options.fileName = source.fileName;
    spec::SpecErrors errors;
    const auto reader = spec::SpecReader::parse(source.text, options, errors);
    take(reader ? reader->resolve(variation).errors : errors, source, out);
    return out;
}

LocalCheck checkLocally(const values::SpecSource& source, const std::function<bool()>& isStopped) {
    LocalCheck out;
    spec::SpecOptions options;
    options.fileName = source.fileName;
    options.baseDir = source.baseDir;
    options.sets = source.sets;
    spec::SpecErrors errors;
    const auto reader = spec::SpecReader::parse(source.text, options, errors);
    if (!reader) {
        take(errors, source, out);
        return out;
    }
    out.variations = reader->variations();
    const spec::ResolvedSpec base = reader->resolve();
    take(base.errors, source, out);
    if (!base.ok()) {
        return out;
    }
    for (const std::string& variation : out.variations) {
        if (isStopped && isStopped()) {
            return out;
        }
        take(reader->resolve(variation).errors, source, out);
    }
    return out;
}

}  // namespace millrace::gui
