#pragma once
// Features of random columns, and a row's features as text, by which oracle and engine are
// compared.
#include "tests/unit/recipe/property_generator.h"

namespace millrace::test {

inline std::string shown(double value) {
    return std::isnan(value) ? "nan" : strCat(static_cast<float>(value));
}

/// Features of all columns.
inline void addFeatures(spec::RunSpec& spec, const std::vector<std::string>& columns,
                        Generator& draw) {
    for (const std::string& name : columns) {
        if (name[0] == 'i' || name[0] == 'y') {
            spec.features.dense.push_back({name, 0.5});
        }
        if (name[0] == 'i' || name[0] == 's') {
            spec.features.ids.push_back(name);
        } else if (name[0] == 'l' && name[1] != 'y' && name != "lihist") {
            spec.features.lists.push_back(name);
        }
        if (name[0] != 'y' && name.substr(0, 2) != "ly") {
            spec.embeddings[name].features = {name};
            spec.embeddings[name].rows = kIdRows;
        }
    }
    spec::SequenceFeature& past = spec.features.sequences["past"];
    past.columns = {"lihist", "lyhist", "litime"};
    past.time = "litime";
    past.before = draw.upTo(2) == 0 ? "inow" : "";
    past.last = draw.upTo(3);
}

inline std::int64_t idOf(const spec::RunSpec& spec, const std::string& column, const Value& value) {
    if (spec::isMadeId(spec.recipe, column)) {
        return value.isNull() ? 0 : value.i;
    }
    return hashedId(value, kIdRows, 0).i;
}

/// A row's output as text, in the oracle's form.
inline std::string expected(const spec::RunSpec& spec, const OracleRow& row) {
    std::string out = strCat("row ", row.number, " weight ", shown(row.weight));
    for (const spec::DenseFeature& dense : spec.features.dense) {
        const Value& v = row.at(dense.column);
        strAppend(&out, " ", dense.column, "=", shown(v.isNull() ? dense.fill : v.number()));
    }
    for (const std::string& name : spec.features.ids) {
        strAppend(&out, " ", name, "#", idOf(spec, name, row.at(name)));
    }
    for (const std::string& name : spec.features.lists) {
        strAppend(&out, " ", name, "[");
        for (const Value& element : row.at(name).l) {
            strAppend(&out, idOf(spec, name, element), ",");
        }
        strAppend(&out, "]");
    }
    const spec::SequenceFeature& past = spec.features.sequences.at("past");
    std::vector<std::string> actions;
    for (std::size_t k = 0; k < row.at("lihist").l.size(); ++k) {
        const Value &time = row.at("litime").l[k], &price = row.at("lyhist").l[k];
        if (!past.before.empty()) {
            const Value& now = row.at(past.before);
            if (now.isNull() || time.isNull() || time.i >= now.i) {
                continue;
            }
        }
        actions.push_back(strCat(idOf(spec, "lihist", row.at("lihist").l[k]), "/",
                                 shown(price.isNull() ? 0 : price.d), "/",
                                 time.isNull() ? 0 : time.i, ","));
    }
    const std::size_t skip = past.last > 0 && actions.size() > static_cast<std::size_t>(past.last)
                                 ? actions.size() - static_cast<std::size_t>(past.last)
                                 : 0;
    strAppend(&out, " past(");
    for (std::size_t k = skip; k < actions.size(); ++k) {
        strAppend(&out, actions[k]);
    }
    return out + ")";
}

}  // namespace millrace::test
