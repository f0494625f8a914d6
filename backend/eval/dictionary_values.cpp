#include "backend/eval/dictionary_values.h"

#include <string>

#include <arrow/array/array_base.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>

#include "backend/arrays/number_codes.h"
#include "backend/eval/evaluation_pool.h"

namespace millrace::eval {
namespace {

using arrays::TextCodes;

/// Presents the entries of a column as its rows.
class EntriesInput final : public ExprInput {
 public:
    EntriesInput(const std::string& name, ArrayPtr entries)
        : name_(name), entries_(std::move(entries)) {}
    std::int64_t rows() const override { return entries_->length(); }
    Result<ArrayPtr> column(const std::string& name) override {
        return name == name_ ? Result<ArrayPtr>(entries_) : internalError("no column ", name);
    }

 private:
    const std::string& name_;
    const ArrayPtr entries_;
};

}  // namespace

std::optional<ArrayPtr> evaluateEntries(const std::string& text, ExprInput& input,
                                        const EvaluateCall& evaluate) {
    const Result<ArrayPtr> stored = input.storedColumn(text);
    const std::optional<TextCodes> coded =
        stored.ok() ? TextCodes::of(**stored) : std::optional<TextCodes>();
    if (!coded || coded->rows() == 0 || !coded->isWorth()) {
        return std::nullopt;
    }
    EntriesInput entries(text, coded->entries);
    Result<ArrayPtr> values = evaluate(entries);
    if (values.ok()) {
        values = gatherEntries(*coded, *values, evaluationPool());
    }
    return values.ok() ? std::optional<ArrayPtr>(*std::move(values)) : std::nullopt;
}

Result<ArrayPtr> gatherEntries(const TextCodes& coded, const ArrayPtr& made,
                               arrow::MemoryPool* pool) {
    if (made->type_id() == arrow::Type::STRING) {
        return arrays::plainTexts(coded.with(made), pool);
    }
    if (!arrays::isGathered(*made->type())) {
        return takeRows(made, coded.codes);
    }
    return arrays::gatherFixed(*made, coded.raw(), coded.rows(), pool);
}

}  // namespace millrace::eval
