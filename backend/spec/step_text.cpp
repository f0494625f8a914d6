#include "backend/spec/step_text.h"

#include <algorithm>

#include "backend/core/json.h"

namespace millrace::spec {
namespace {

/// A plain scalar where YAML takes one inside braces, else in double quotes.
std::string scalar(const std::string& text, bool isInBraces) {
    const bool isPlain =
        !text.empty() && text.find(": ") == std::string::npos &&
        text.find(" #") == std::string::npos && text.find('\n') == std::string::npos &&
        std::string_view("\"'!&*|>%@`-?[]{}, ").find(text.front()) == std::string_view::npos &&
        text.back() != ':' && text.back() != ' ' &&
        (!isInBraces || text.find_first_of(",[]{}") == std::string::npos);
    return isPlain ? text : dumpJson(text);
}

std::string listText(const std::vector<std::string>& items) {
    std::string out = "[";
    for (const std::string& item : items) {
        strAppend(&out, out.size() > 1 ? ", " : "", scalar(item, true));
    }
    return out + "]";
}

/// `{key: value, ...}`, in the order of the calls.
class Members {
 public:
    Members& text(std::string_view key, const std::string& value) {
        return raw(key, scalar(value, true));
    }
    Members& textUnless(std::string_view key, const std::string& value,
                        std::string_view fallback = "") {
        return value == fallback ? *this : text(key, value);
    }
    Members& raw(std::string_view key, const std::string& value) {
        strAppend(&body_, body_.empty() ? "" : ", ", key, ": ", value);
        return *this;
    }
    Members& list(std::string_view key, const std::vector<std::string>& items) {
        return items.empty() ? *this : raw(key, listText(items));
    }
    std::string done() const { return "{" + body_ + "}"; }

 private:
    std::string body_;
};

std::string namedText(const std::vector<NamedExpr>& columns) {
    Members members;
    for (const NamedExpr& column : columns) {
        members.text(scalar(column.name, true), column.expr);
    }
    return members.done();
}

/// `take` as a list where every column keeps its name.
std::string takeText(const std::vector<NamedExpr>& take) {
    const bool isList = std::all_of(take.begin(), take.end(), [](const NamedExpr& column) {
        return column.name == column.expr;
    });
    if (!isList) {
        return namedText(take);
    }
    std::vector<std::string> names;
    for (const NamedExpr& column : take) {
        names.push_back(column.name);
    }
    return listText(names);
}

std::string keysText(const std::vector<JoinKey>& on) {
    const bool isNames =
        std::all_of(on.begin(), on.end(), [](const JoinKey& key) { return key.left == key.right; });
    if (isNames && on.size() == 1) {
        return scalar(on[0].left, true);
    }
    if (!isNames) {
        Members members;
        for (const JoinKey& key : on) {
            members.text(scalar(key.left, true), key.right);
        }
        return members.done();
    }
    std::vector<std::string> names;
    for (const JoinKey& key : on) {
        names.push_back(key.left);
    }
    return listText(names);
}

/// What differs from how files of these names are read.
std::string csvText(const TableRef& table) {
    const CsvOptions& csv = table.csv;
    const CsvOptions usual = TableRef(table.paths).csv;
    Members members, types;
    for (const auto& [name, type] : csv.types) {
        types.text(scalar(name, true), type);
    }
    const auto quoted = [&members](const char* key, const std::string& text,
                                   const std::string& fallback) {
        if (text != fallback) {
            members.raw(key, dumpJson(text));
        }
    };
    const auto plain = [&members](const char* key, bool isGiven, const std::string& text) {
        if (isGiven) {
            members.raw(key, text);
        }
    };
    quoted("delimiter", csv.delimiter, usual.delimiter);
    plain("header", !csv.header, "false");
    plain("types", !csv.types.empty(), types.done());
    quoted("quote", csv.quote, usual.quote);
    quoted("comment", csv.comment, usual.comment);
    plain("skip_rows", csv.skipRows != 0, strCat(csv.skipRows));
    plain("decimal_comma", csv.decimalComma, "true");
    members.list("null_values", csv.nullValues);
    members.textUnless("on_bad_row", csv.onBadRow, usual.onBadRow);
    return members.done();
}

std::string joinText(const Step& step) {
    Members members;
    const std::vector<std::string>& paths = step.table.paths;
    members.raw("table", paths.size() == 1 ? scalar(paths[0], true) : listText(paths))
        .raw("on", keysText(step.on));
    if (step.kind == StepKind::kJoin) {
        if (step.asOf) {
            Members asOf;
            asOf.text("left", step.asOf->left).text("right", step.asOf->right);
            if (step.asOf->tolerance != 0) {
                asOf.raw("tolerance", dumpJson(jsonNumber(step.asOf->tolerance)));
            }
            members.raw("as_of", asOf.done());
        }
        members.raw("take", takeText(step.take))
            .textUnless("on_duplicate", step.onDuplicate, "error")
            .textUnless("missing", step.missing, "null");
    }
    if (!step.table.hasUsualCsv()) {
        members.raw("csv", csvText(step.table));
    }
    return members.done();
}

std::string sampleText(const Step& step) {
    Members members;
    members.textUnless("where", step.where).raw("keep", dumpJson(jsonNumber(step.keep)));
    if (step.isInverseWeighted) {
        members.raw("weight", "inverse");
    }
    members.list("by", step.by);
    if (step.redrawEachEpoch) {
        members.raw("redraw", "each_epoch");
    }
    return members.done();
}

std::string columnStepText(const Step& step) {
    Members members;
    members.text("column", step.column).textUnless("as", step.as, step.column);
    if (step.kind == StepKind::kHash) {
        members.raw("buckets", strCat(step.buckets));
        if (step.seed != 0) {
            members.raw("seed", strCat(step.seed));
        }
    } else if (step.kind == StepKind::kBucketize) {
        members.raw("boundaries", dumpJson(Json(step.boundaries)));
    } else {
        members.raw("length", strCat(step.length)).textUnless("from", step.from, "first");
    }
    return members.done();
}

std::string bodyOf(const Step& step) {
    switch (step.kind) {
        case StepKind::kFilter:
        case StepKind::kWeight:
            return scalar(step.expr, false);
        case StepKind::kJoin:
        case StepKind::kSemiJoin:
        case StepKind::kAntiJoin:
            return joinText(step);
        case StepKind::kSample:
            return sampleText(step);
        case StepKind::kDerive:
            return namedText(step.columns);
        case StepKind::kHash:
        case StepKind::kBucketize:
        case StepKind::kTruncate:
            return columnStepText(step);
        case StepKind::kSelect:
            return listText(step.select);
    }
    return "";
}

}  // namespace

std::string stepText(const Step& step) {
    return strCat(stepKindName(step.kind), ": ", bodyOf(step));
}

}  // namespace millrace::spec
