#include "backend/stream/plan.h"

#include <algorithm>
#include <unordered_set>

#include "backend/core/hash.h"
#include "backend/stream/json_read.h"
#include "backend/text/json_text.h"

namespace millrace::stream {
namespace {

constexpr std::size_t kMaxFiles = std::size_t{1} << 22;
constexpr std::size_t kMaxSplits = std::size_t{1} << 26;
constexpr std::size_t kMaxPathBytes = 4096;
/// Indexed by SegmentRule.
constexpr std::string_view kRuleNames[] = {"given", "all", "rows", "bytes"};

// A plan's text is written directly, without a JSON tree, because plans have many files. The text
// equals that of a tree.

void appendSplit(const PlanSplit& s, std::string& out) {
    strAppend(&out, R"({"decoded_bytes":)", s.decodedBytes, R"(,"first_row":)", s.firstRow);
    if (s.partition != 0) {
        strAppend(&out, R"(,"partition":)", s.partition);
    }
    strAppend(&out, R"(,"row_group":)", s.rowGroup, R"(,"rows":)", s.rows, "}");
}

void appendFile(const PlanFile& f, std::string& out) {
    strAppend(&out, R"({"bytes":)", f.bytes, R"(,"footer_hash":)");
    appendJsonText(f.footerHash, &out);
    out += R"(,"path":)";
    appendJsonText(f.path, &out);
    out += R"(,"relative_path":)";
    appendJsonText(f.relativePath, &out);
    strAppend(&out, R"(,"rows":)", f.rows, R"(,"splits":[)");
    for (std::size_t s = 0; s < f.splits.size(); ++s) {
        out += s == 0 ? "" : ",";
        appendSplit(f.splits[s], out);
    }
    out += "]}";
}

void appendFiles(const std::vector<PlanFile>& files, std::string& out) {
    out += '[';
    for (std::size_t i = 0; i < files.size(); ++i) {
        out += i == 0 ? "" : ",";
        appendFile(files[i], out);
    }
    out += ']';
}

Result<std::vector<PlanSplit>> readSplits(const Json& list, std::int64_t rows, std::size_t& left) {
    std::vector<PlanSplit> splits;
    if (list.size() > left) {
        return invalidArgument("more than ", kMaxSplits, " splits");
    }
    left -= list.size();
    splits.reserve(list.size());
    std::int64_t at = 0;
    for (const Json& item : list) {
        JsonRead read(item);
        PlanSplit s;
        s.rowGroup = read.count("row_group");
        s.firstRow = read.count("first_row");
        s.rows = read.count("rows");
        s.decodedBytes = read.count("decoded_bytes");
        s.partition = item.contains("partition") ? read.count("partition") : 0;
        RETURN_IF_ERROR(annotate(read.status(), strCat("split ", splits.size())));
        if (s.firstRow != at || s.rows > rows - at) {
            return invalidArgument("split ", splits.size(), ": rows ", s.firstRow, " + ", s.rows,
                                   " do not follow row ", at, " of ", rows);
        }
        at += s.rows;
        splits.push_back(s);
    }
    if (at != rows) {
        return invalidArgument("the splits hold ", at, " rows, the file ", rows);
    }
    return splits;
}

Result<PlanFile> readFile(const Json& item, std::size_t& splitsLeft) {
    JsonRead read(item);
    PlanFile f;
    f.path = read.text("path", kMaxPathBytes);
    f.relativePath = read.text("relative_path", kMaxPathBytes);
    f.bytes = read.count("bytes");
    f.footerHash = read.hash("footer_hash");
    f.rows = read.count("rows");
    const Json& splits = read.list("splits");
    RETURN_IF_ERROR(read.status());
    ASSIGN_OR_RETURN(f.splits, readSplits(splits, f.rows, splitsLeft));
    return f;
}

Result<std::vector<PlanFile>> readFiles(const Json& list, std::string_view what,
                                        std::size_t& splitsLeft) {
    if (list.size() > kMaxFiles) {
        return invalidArgument("plan: more than ", kMaxFiles, " files");
    }
    std::vector<PlanFile> files;
    files.reserve(list.size());
    std::unordered_set<std::string> names;
    for (const Json& item : list) {
        Result<PlanFile> file = readFile(item, splitsLeft);
        RETURN_IF_ERROR(annotate(file.status(), strCat("plan: ", what, " ", files.size())));
        if (!names.insert(file->relativePath).second) {
            return invalidArgument("plan: ", what, " ", files.size(), ": the relative path '",
                                   file->relativePath, "' appears twice");
        }
        files.push_back(*std::move(file));
    }
    return files;
}

Result<std::vector<SideTable>> readTables(const Json& list) {
    if (list.size() > kMaxFiles) {
        return invalidArgument("plan: more than ", kMaxFiles, " side tables");
    }
    std::vector<SideTable> tables;
    for (const Json& item : list) {
        JsonRead read(item);
        SideTable t;
        t.path = read.text("path", kMaxPathBytes);
        t.bytes = read.count("bytes");
        t.hash = read.hash("hash");
        t.rows = item.contains("rows") ? read.count("rows") : -1;
        RETURN_IF_ERROR(annotate(read.status(), strCat("plan: side table ", tables.size())));
        tables.push_back(std::move(t));
    }
    return tables;
}

void appendCounted(const std::vector<CountedTable>& tables, std::string& out) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
        const CountedTable& t = tables[i];
        strAppend(&out, i == 0 ? R"("counted_tables":[)" : ",", R"({"bytes":)", t.bytes,
                  R"(,"file":")", *t.file, R"(","hash":")", t.hash, R"(","rows":)", t.rows, "}");
    }
    out += tables.empty() ? "" : "],";
}

Result<std::vector<CountedTable>> readCounted(const Json& plan) {
    std::vector<CountedTable> tables;
    if (!plan.contains("counted_tables")) {
        return tables;
    }
    for (const Json& item : jsonMember(plan, "counted_tables")) {
        JsonRead read(item);
        CountedTable t;
        t.hash = read.hash("hash");
        t.rows = read.count("rows");
        t.bytes = read.count("bytes");
        t.file = std::make_shared<const std::string>(read.text("file", kCountedBytesMax));
        RETURN_IF_ERROR(annotate(read.status(), strCat("plan: counted table ", tables.size())));
        tables.push_back(std::move(t));
    }
    return tables;
}

/// Columns as [name, type, is nullable].
Json columnsJson(const expr::Schema& schema) {
    Json list = Json::array();
    for (const expr::Field& field : schema.fields) {
        list.push_back(Json::array({field.name, field.type.name(), field.type.nullable}));
    }
    return list;
}

Result<expr::Schema> readColumns(const Json& list) {
    expr::Schema schema;
    for (const Json& item : list) {
        if (!item.is_array() || item.size() != 3 || !item[0].is_string() || !item[1].is_string() ||
            !item[2].is_boolean()) {
            return invalidArgument("plan: a column is not [name, type, nullable]");
        }
        expr::Field field{item[0].get<std::string>(), {}};
        const auto type = expr::parseType(item[1].get<std::string>());
        RETURN_IF_ERROR(annotate(type.status(), strCat("plan: column ", field.name)));
        field.type = *type;
        field.type.nullable = item[2].get<bool>();
        schema.fields.push_back(std::move(field));
    }
    return schema;
}

// Writes the canonical JSON of the files' identities directly: arrays of path, bytes, hash, rows of
// the splits and, if there are any, their partitions.
void appendIdentities(const std::vector<PlanFile>& files, std::string& out) {
    const auto appendNumbers = [&out](const PlanFile& f, std::int64_t PlanSplit::* member) {
        out += '[';
        for (std::size_t s = 0; s < f.splits.size(); ++s) {
            strAppend(&out, s == 0 ? "" : ",", f.splits[s].*member);
        }
        out += ']';
    };
    out += '[';
    for (std::size_t i = 0; i < files.size(); ++i) {
        const PlanFile& f = files[i];
        out += i == 0 ? "[" : ",[";
        appendJsonText(f.relativePath, &out);
        strAppend(&out, ",", f.bytes, ",");
        appendJsonText(f.footerHash, &out);
        out += ',';
        appendNumbers(f, &PlanSplit::rows);
        if (std::ranges::any_of(f.splits, [](const PlanSplit& s) { return s.partition != 0; })) {
            out += ',';
            appendNumbers(f, &PlanSplit::partition);
        }
        out += ']';
    }
    out += ']';
}

Result<SegmentRule> readRule(const Json& plan) {
    if (!plan.contains("segment_rule")) {
        return SegmentRule::kGiven;
    }
    const std::string name = jsonString(plan, "segment_rule");
    const auto* const at = std::find(std::begin(kRuleNames), std::end(kRuleNames), name);
    if (at == std::end(kRuleNames)) {
        return invalidArgument("plan: segment_rule is '", name, "'");
    }
    return static_cast<SegmentRule>(at - std::begin(kRuleNames));
}

}  // namespace

std::string_view nameOf(SegmentRule rule) {
    return kRuleNames[static_cast<std::size_t>(rule)];
}

Json SideTable::toJson() const {
    Json table{{"path", path}, {"bytes", bytes}, {"hash", hash}};
    if (rows >= 0) {
        table["rows"] = rows;
    }
    return table;
}

std::int64_t Plan::numSplits() const {
    std::int64_t n = 0;
    for (const PlanFile& f : files) {
        n += static_cast<std::int64_t>(f.splits.size());
    }
    return n;
}

std::int64_t Plan::numRows() const {
    std::int64_t n = 0;
    for (const PlanFile& f : files) {
        n += f.rows;
    }
    return n;
}

std::string Plan::planHash() const {
    Json tables = Json::array();
    for (const SideTable& t : sideTables) {
        tables.push_back(Json::array({t.bytes, t.hash}));
    }
    std::string text = "{\"eval_files\":";
    appendIdentities(evalFiles, text);
    text += ",\"files\":";
    appendIdentities(files, text);
    strAppend(&text, ",\"side_tables\":", dumpJson(tables), ",\"version\":1");
    for (const CountedTable& t : countedTables) {
        strAppend(&text, ",\"", t.hash, "\"");
    }
    text += '}';
    return hashHex(text);
}

std::string Plan::toJsonText() const {
    Json tables = Json::array();
    for (const SideTable& t : sideTables) {
        tables.push_back(t.toJson());
    }
    std::string text = strCat(R"({"columns":)", dumpJson(columnsJson(schema)), ",");
    appendCounted(countedTables, text);
    strAppend(&text, R"("eval_columns":)", dumpJson(columnsJson(evalSchema)), R"(,"eval_files":)");
    appendFiles(evalFiles, text);
    text += R"(,"files":)";
    appendFiles(files, text);
    if (segmentRule != SegmentRule::kGiven) {
        strAppend(&text, R"(,"segment_rule":")", nameOf(segmentRule), "\"");
    }
    strAppend(&text, R"(,"segment_splits":)", segmentSplits, R"(,"side_tables":)", dumpJson(tables),
              R"(,"version":1})");
    return text;
}

Result<Plan> Plan::fromJson(const Json& json) {
    JsonRead read(json);
    if (read.count("version") != 1 && read.status().ok()) {
        return invalidArgument("plan: a version other than 1");
    }
    Plan plan;
    plan.segmentSplits = read.count("segment_splits");
    ASSIGN_OR_RETURN(plan.segmentRule, readRule(json));
    const Json& files = read.list("files");
    const Json& evalFiles = read.list("eval_files");
    const Json& tables = read.list("side_tables");
    RETURN_IF_ERROR(annotate(read.status(), "plan"));
    if (plan.segmentSplits < 1) {
        return invalidArgument("plan: segment_splits is ", plan.segmentSplits,
                               ", must be at least 1");
    }
    std::size_t splitsLeft = kMaxSplits;
    ASSIGN_OR_RETURN(plan.files, readFiles(files, "file", splitsLeft));
    ASSIGN_OR_RETURN(plan.evalFiles, readFiles(evalFiles, "eval file", splitsLeft));
    ASSIGN_OR_RETURN(plan.sideTables, readTables(tables));
    ASSIGN_OR_RETURN(plan.countedTables, readCounted(json));
    ASSIGN_OR_RETURN(plan.schema, readColumns(jsonMember(json, "columns")));
    ASSIGN_OR_RETURN(plan.evalSchema, readColumns(jsonMember(json, "eval_columns")));
    return plan;
}

}  // namespace millrace::stream
