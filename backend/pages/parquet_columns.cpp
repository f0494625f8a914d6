#include "backend/pages/parquet_columns.h"

#include <set>

#include <parquet/schema.h>
#include <parquet/types.h>

namespace millrace::pages {
namespace {

using parquet::schema::Node;

/// Same definition as in libparquet's Arrow schema.
bool isStruct(const Node& node) {
    return node.is_group() && !node.is_repeated() &&
           (node.logical_type() == nullptr ||
            (!node.logical_type()->is_list() && !node.logical_type()->is_map()));
}

/// The node of the column that a leaf belongs to, found from the leaf's ancestors without the root.
struct Found {
    std::string name;
    const Node* node = nullptr;
    int depth = 0;
    bool isNullable = false;
};

Found columnAt(const Node& leaf) {
    std::vector<const Node*> chain;
    for (const Node* node = &leaf; node->parent() != nullptr; node = node->parent()) {
        chain.push_back(node);
    }
    Found found;
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
        found.name += found.node == nullptr ? "" : ".";
        found.name += (*it)->name();
        found.node = *it;
        found.isNullable |= !(*it)->is_required();
        if (!isStruct(**it)) {
            break;
        }
        ++found.depth;
    }
    return found;
}

}  // namespace

std::string columnOfLeaf(const parquet::SchemaDescriptor& schema, int leaf) {
    return columnAt(*schema.Column(leaf)->schema_node()).name;
}

std::optional<ColumnLeaves> findColumn(const parquet::SchemaDescriptor& schema,
                                       const std::string& name) {
    const parquet::schema::GroupNode& root = *schema.group_node();
    if (const int at = root.FieldIndex(name); at >= 0 && root.field(at)->is_primitive()) {
        const parquet::schema::Node& field = *root.field(at);
        return ColumnLeaves{
            {schema.ColumnIndex(field)}, 0, !field.is_repeated(), !field.is_required()};
    }
    if (root.FieldIndex(name) < 0 && name.find('.') == std::string::npos) {
        return std::nullopt;
    }
    const std::map<std::string, ColumnLeaves> columns = columnsOf(schema);
    const auto at = columns.find(name);
    return at == columns.end() ? std::nullopt : std::optional(at->second);
}

std::map<std::string, ColumnLeaves> columnsOf(const parquet::SchemaDescriptor& schema) {
    std::set<std::string> own;
    for (int i = 0; i < schema.group_node()->field_count(); ++i) {
        own.insert(schema.group_node()->field(i)->name());
    }
    std::map<std::string, ColumnLeaves> columns;
    std::map<std::string, const Node*> nodes;
    for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
        const Found found = columnAt(*schema.Column(leaf)->schema_node());
        if (found.depth > 0 && own.contains(found.name)) {
            continue;
        }
        const auto [at, isNew] = nodes.emplace(found.name, found.node);
        if (!isNew && at->second != found.node) {
            continue;
        }
        ColumnLeaves& column = columns[found.name];
        column.leaves.push_back(leaf);
        column.depth = found.depth;
        column.isPrimitive = found.node->is_primitive() && !found.node->is_repeated();
        column.isNullable = found.isNullable;
    }
    return columns;
}

}  // namespace millrace::pages
