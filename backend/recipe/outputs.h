#pragma once
// Labels and features: turns the remaining rows into a FeatureBatch. Private to recipe.
//
// Threads: immutable after make().
#include <map>
#include <string>
#include <vector>

#include "backend/recipe/feature_batch.h"
#include "backend/recipe/id_encoder.h"
#include "backend/recipe/list_features.h"
#include "backend/recipe/row_set.h"

namespace millrace::recipe {

class LabelMaker {
 public:
    static Result<LabelMaker> make(const std::map<std::string, spec::LabelSpec>& labels,
                                   const expr::Schema& schema);
    /// `isWeighted`: uses label and row weights; otherwise every weight is 1.
    Status run(RowSet& rows, bool isWeighted, FeatureBatch& batch) const;

 private:
    struct Head {
        std::string name;
        expr::Expr expr, weight, where;  ///< the last two may be null
    };
    static Status weigh(const Head& head, RowSet& rows, LabelColumn& column);
    std::vector<Head> heads_;
};

class FeatureMaker {
 public:
    /// `steps`: the recipe before the features; `schema`: the columns after it.
    static Result<FeatureMaker> make(const spec::RunSpec& spec,
                                     const std::vector<spec::Step>& steps,
                                     const expr::Schema& schema, const TableSource& tables);
    /// Also makes row keys from these columns of `schema` ("" or an unknown name: none).
    void addKeys(const spec::FeaturesSpec& features, const expr::Schema& schema);
    /// Sets the file's columns once, so that row sets need not search for them.
    void setFile(const expr::ColumnIndex& file);
    Status run(RowSet& rows, FeatureBatch& batch) const;
    void addTables(TableSizes& sizes) const { sizes.insert(tables_.begin(), tables_.end()); }
    /// See CompiledRecipe::vocabularies().
    const std::vector<std::string>& vocabularies() const { return vocabularies_; }

 private:
    struct Dense {
        std::string name;
        expr::DataType type;
        float fill = 0;
    };
    Status dense(RowSet& rows, FeatureBatch& batch) const;
    /// Returns false if the numbers are not dictionary-coded.
    static Result<bool> storedDense(const Dense& feature, RowSet& rows, FeatureBatch& batch);
    static Status floatsOf(const Dense& feature, const eval::ArrayPtr& values, float* out);
    Status ids(RowSet& rows, FeatureBatch& batch) const;
    Status lists(RowSet& rows, FeatureBatch& batch) const;
    Status vectors(RowSet& rows, FeatureBatch& batch) const;
    Status keys(RowSet& rows, FeatureBatch& batch) const;

    struct Encoded {
        std::string name;
        IdEncoder encoder;
    };
    struct Vector {
        std::string name;
        expr::DataType type;
        std::int32_t width = 0;
    };
    std::vector<Dense> dense_;
    std::vector<Encoded> ids_, lists_;
    std::vector<Vector> vectors_;
    ListFeatures listFeatures_;
    std::vector<std::string> carry_, columns_, vocabularies_;
    std::string request_, user_;
    TableSizes tables_;  ///< of the vocabularies
};

}  // namespace millrace::recipe
