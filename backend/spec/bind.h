#pragma once
// Second phase of resolving: binds a RunSpec to the columns of its dataset.
//
// Threads: pure. Failure: errors as values, with positions in the YAML text if the spec has them.
#include <string>
#include <vector>

#include "backend/expr/schema.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/spec_reader.h"
#include "backend/spec/table_ref.h"

namespace millrace::spec {

struct BindResult {
    SpecErrors errors;                  ///< empty: the spec may run
    std::vector<std::string> warnings;  ///< for `check`
    expr::Schema columns;               ///< at the end of the recipe
    bool ok() const { return errors.empty(); }
};

/// Types every expression at its place in the recipe and expands feature patterns. Fills in what
/// depends on the columns (embeddings of made ids, csv.types, batch.shuffle), and checks features,
/// labels and ids. Binding a bound spec again changes nothing. `evalSchema`: the columns of eval's
/// own files if they differ; null: `schema`.
BindResult bindSchema(RunSpec& spec, const expr::Schema& schema, const TableSchemaLookup& tables,
                      const expr::Schema* evalSchema = nullptr);

/// The type of a counted vocabulary for an id column or the elements of a list: "string", "uint64"
/// or "int64".
std::string countedType(const expr::DataType& type);

/// The form of a sequence's column after the loader: encoded ids, float32, or the time as int64
/// (timestamps and dates in microseconds).
enum class SequenceValue { kId, kFloat, kTime };
SequenceValue sequenceValue(const SequenceFeature& sequence, const std::string& column,
                            const expr::DataType& type);

/// The columns after one enabled step; types the step's expressions. The caller must skip disabled
/// steps. kInvalidArgument "step 'x': 1:5: ...".
Result<expr::Schema> columnsAfter(const Step& step, const expr::Schema& before,
                                  const TableSchemaLookup& tables);

}  // namespace millrace::spec
