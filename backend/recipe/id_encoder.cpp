#include "backend/recipe/id_encoder.h"

#include <algorithm>

#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/dictionary_values.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/hash_rows.h"
#include "backend/eval/list_view.h"
#include "backend/eval/value_reader.h"
#include "backend/recipe/join/side_rows.h"
#include "backend/recipe/row_set.h"
#include "backend/recipe/steps.h"

namespace millrace::recipe {

using eval::ArrayPtr;

Result<IdEncoder> EncoderMaker::make(const std::string& feature, const std::string& column,
                                     const expr::DataType& type) {
    IdEncoder encoder;
    if (spec::isMadeId(steps_, column)) {
        return encoder;
    }
    for (const auto& [name, embedding] : spec_.embeddings) {
        const auto& features = embedding.features;
        if (std::ranges::find(features, feature) == features.end()) {
            continue;
        }
        encoder.rows_ = embedding.rows;
        encoder.counter_ = counterOf(name);
        if (encoder.counter_ != nullptr) {
            encoder.counter_->setType(spec::countedType(type));
            return encoder;
        }
        if (embedding.vocabulary.has_value()) {
            ASSIGN_OR_RETURN(
                encoder.vocabulary_,
                embedding.vocabulary->isCounted()
                    ? loadCounted(name, embedding.vocabulary->hash, column, type.element())
                    : load(name, *embedding.vocabulary, column, type.element()));
            encoder.place_ = names_.size();
            names_.push_back(feature);
            return encoder;
        }
        if (encoder.rows_ > 0) {
            return encoder;
        }
    }
    return invalidArgument("features: '", feature, "' has no number of ids; give embeddings.",
                           feature, ".rows, or make it with hash or bucketize");
}

ValueCounter* EncoderMaker::counterOf(const std::string& embedding) const {
    if (tables_.counters == nullptr) {
        return nullptr;
    }
    const auto found = tables_.counters->find(embedding);
    return found == tables_.counters->end() ? nullptr : found->second.get();
}

Result<std::shared_ptr<const JoinTable>> EncoderMaker::loadCounted(const std::string& embedding,
                                                                   const std::string& hash,
                                                                   const std::string& column,
                                                                   const expr::DataType& type) {
    const std::string name = strCat("embeddings.", embedding, ".vocabulary");
    if (hash.empty() || !tables_.counted) {
        return failedPrecondition(name, ": its values are not counted yet");
    }
    const std::string key = strCat("counted\n", hash, "\n", type.name());
    const auto make = [&]() -> Result<std::shared_ptr<const JoinTable>> {
        ASSIGN_OR_RETURN(const CountedValues counted, tables_.counted(hash));
        return JoinTable::make({name, /*isFirstTaken=*/false, tables_.budget},
                               {{column, "value", type, counted.type()}}, {counted.values});
    };
    ASSIGN_OR_RETURN(auto table, tables_.shared->get<JoinTable>(key, make));
    loaded_[key] = table;
    return table;
}

Result<std::shared_ptr<const JoinTable>> EncoderMaker::load(const std::string& embedding,
                                                            const spec::VocabularySpec& vocabulary,
                                                            const std::string& column,
                                                            const expr::DataType& type) {
    const std::string key = strCat("vocabulary\n", vocabulary.table.key(), "\n", vocabulary.column,
                                   "\n", vocabulary.onDuplicate, "\n", type.name());
    const auto make = [&]() -> Result<std::shared_ptr<const JoinTable>> {
        const std::string name =
            strCat("embeddings.", embedding, ": table ", vocabulary.table.text());
        ASSIGN_OR_RETURN(const expr::Schema schema, tables_.schema(vocabulary.table));
        const expr::Field* field = schema.find(vocabulary.column);
        if (field == nullptr) {
            return invalidArgument(name, " has no column '", vocabulary.column, "'");
        }
        ASSIGN_OR_RETURN(const SideRows rows,
                         SideRows::load(tables_, vocabulary.table, {vocabulary.column}, name));
        TableInput input(rows.table);
        ASSIGN_OR_RETURN(ArrayPtr keys, input.column(vocabulary.column));
        return JoinTable::make({name, vocabulary.onDuplicate == "first", tables_.budget},
                               {{column, vocabulary.column, type, field->type}}, {std::move(keys)});
    };
    ASSIGN_OR_RETURN(auto table, tables_.shared->get<JoinTable>(key, make));
    loaded_[key] = table;
    return table;
}

TableSizes EncoderMaker::tables() const {
    TableSizes sizes;
    for (const auto& [key, table] : loaded_) {
        sizes[table.get()] = table->bytes();
    }
    return sizes;
}

Result<ArrayPtr> IdEncoder::encodeElements(const ArrayPtr& values, arrow::MemoryPool* pool) const {
    if (counter_ != nullptr) {
        return counter_->number(values);
    }
    if (vocabulary_ != nullptr) {
        ASSIGN_OR_RETURN(std::vector<std::int64_t> rows, vocabulary_->find({values}));
        for (std::int64_t& row : rows) {
            ++row;  // -1 means unknown and becomes 0
        }
        return eval::indexArray(rows, false);
    }
    if (rows_ > 0) {
        return eval::hashIds(values, rows_, 0, pool);
    }
    if (values->type_id() == arrow::Type::INT64 && values->null_count() == 0) {
        return values;
    }
    ASSIGN_OR_RETURN(const eval::ValueReader reader, eval::ValueReader::of(*values));
    std::vector<std::int64_t> ids(static_cast<std::size_t>(values->length()), 0);
    for (std::int64_t i = 0; i < values->length(); ++i) {
        ids[static_cast<std::size_t>(i)] = reader.isNull(i) ? 0 : reader.integer(i);
    }
    return eval::indexArray(ids, false);
}

void IdEncoder::count(const arrow::Array& values, const arrow::Array& ids, const Range& range,
                      IdCount& count) {
    const std::int64_t* const id = static_cast<const arrow::Int64Array&>(ids).raw_values();
    for (std::int64_t i = range.from; i < range.to; ++i) {
        const bool isId = values.IsValid(i);
        count.ids += isId ? 1 : 0;
        count.unknown += isId && id[i] == 0 ? 1 : 0;
    }
}

// Encodes each text once, however many rows have it.
Result<ArrayPtr> IdEncoder::encodeTexts(const arrays::TextCodes& texts, FeatureBatch& batch,
                                        arrow::MemoryPool* pool) const {
    ASSIGN_OR_RETURN(const ArrayPtr ids, encodeElements(texts.entries, pool));
    if (vocabulary_ != nullptr) {
        std::vector<IdCount> ofEntries(static_cast<std::size_t>(ids->length()));
        for (std::int64_t e = 0; e < ids->length(); ++e) {
            count(*texts.entries, *ids, {e, e + 1}, ofEntries[static_cast<std::size_t>(e)]);
        }
        const std::int32_t* const codes = texts.raw();
        for (std::int64_t row = 0; row < texts.rows(); ++row) {
            batch.vocabularies[place_].add(ofEntries[static_cast<std::size_t>(codes[row])]);
        }
    }
    return eval::gatherEntries(texts, ids, pool);
}

Result<ArrayPtr> IdEncoder::encode(const ArrayPtr& values, FeatureBatch& batch,
                                   arrow::MemoryPool* pool,
                                   std::optional<std::span<const std::int32_t>> items) const {
    pool = pool != nullptr ? pool : eval::evaluationPool();
    if (const auto texts = arrays::TextCodes::of(*values)) {
        if (texts->isWorth()) {
            return encodeTexts(*texts, batch, pool);
        }
        ASSIGN_OR_RETURN(const ArrayPtr plain, arrays::plainTexts(values, pool));
        return encode(plain, batch, pool);
    }
    if (!eval::isListArray(*values)) {
        ASSIGN_OR_RETURN(ArrayPtr ids, encodeElements(values, pool));
        if (vocabulary_ != nullptr) {
            count(*values, *ids, {0, values->length()}, batch.vocabularies[place_]);
        }
        return ids;
    }
    ASSIGN_OR_RETURN(const ArrayPtr elements, encodeElements(eval::elementsOf(values), pool));
    if (vocabulary_ != nullptr) {
        countLists(*values, *elements, items, batch.vocabularies[place_]);
    }
    return eval::withElements(values, elements);
}

void IdEncoder::countLists(const arrow::Array& values, const arrow::Array& ids,
                           const std::optional<std::span<const std::int32_t>>& items,
                           IdCount& total) {
    const eval::ListView lists = eval::viewLists(values);
    std::vector<IdCount> ofLists(lists.begins.size());
    for (std::size_t i = 0; i < ofLists.size(); ++i) {
        const std::int64_t from = lists.begins[i];
        count(*lists.elements, ids, {from, from + lists.count(i)}, ofLists[i]);
        if (!items) {
            total.add(ofLists[i]);
        }
    }
    for (const std::int32_t item : items.value_or(std::span<const std::int32_t>())) {
        total.add(ofLists[static_cast<std::size_t>(item)]);
    }
}

}  // namespace millrace::recipe
