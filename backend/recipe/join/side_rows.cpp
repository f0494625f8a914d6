#include "backend/recipe/join/side_rows.h"

#include <arrow/table.h>
#include <arrow/util/byte_size.h>

#include "backend/recipe/join/join_table.h"

namespace millrace::recipe {

Result<SideRows> SideRows::load(const TableSource& tables, const spec::TableRef& table,
                                const std::vector<std::string>& columns, const std::string& name) {
    SideRows rows;
    if (tables.budget != nullptr && tables.size) {
        ASSIGN_OR_RETURN(const dataset::TableSize size, tables.size(table, columns));
        ASSIGN_OR_RETURN(
            rows.reservation,
            tables.budget->reserve(size.bytes + JoinTable::bucketBytes(size.rows), name));
    }
    ASSIGN_OR_RETURN(rows.table, tables.load(table, columns));
    rows.reservation.release();
    if (tables.budget != nullptr) {
        ASSIGN_OR_RETURN(rows.reservation,
                         tables.budget->reserve(arrow::util::TotalBufferSize(*rows.table), name));
    }
    return rows;
}

void SideRows::release() {
    table.reset();
    reservation.release();
}

}  // namespace millrace::recipe
