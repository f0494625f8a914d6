#pragma once
// Ids: values brought into [0, rows) of an embedding table. Private to the room.
#include <cstdint>
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/recipe/join_table.h"
#include "backend/recipe/kernels.h"
#include "backend/spec/run_spec.h"

namespace millrace::recipe {

/// 0 for null, else 1 + XXH3-64(canonical bytes, seed) mod (buckets - 1), as int64 without nulls.
/// A list is hashed element by element; its null lists stay null.
Result<ArrayPtr> hashIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed);

/// The same of scalars (hash_rows.cpp).
Result<ArrayPtr> hashScalarIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed);

/// What one id or list feature does with its column's values.
class IdEncoder {
 public:
    /// By the steps that make the column (hash, bucketize: taken as they are), the table's
    /// vocabulary, or its rows (hashed). Failure: the feature has no cardinality.
    static Result<IdEncoder> make(const spec::RunSpec& spec, const std::vector<spec::Step>& steps,
                                  const std::string& feature, const spec::DataType& type,
                                  const TableSource& tables);

    /// int64 without nulls, or lists of these.
    Result<ArrayPtr> encode(const ArrayPtr& values) const;

    std::int64_t tableBytes() const;

 private:
    Result<ArrayPtr> encodeElements(const ArrayPtr& values) const;
    std::int64_t rows_ = 0;  ///< 0: made ids, taken as they are
    std::shared_ptr<const JoinTable> vocabulary_;
};

}  // namespace millrace::recipe
