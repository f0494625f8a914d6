#include "backend/runs/run_documents.h"

#include <algorithm>

#include "backend/core/hash.h"
#include "backend/runs/run_rows.h"
#include "backend/text/utf8.h"

namespace millrace::runs {
namespace {

// Runs of one submit share a plan.
std::string_view sqlOf(values::LargeDocument which) {
    return which == values::LargeDocument::kPlan
               ? "SELECT s.text FROM run_document d JOIN shared_text s ON s.hash = d.text WHERE "
                 "d.run_no = ? AND d.kind = 'plan@'"
               : "SELECT text FROM run_document WHERE run_no = ? AND kind = 'receipt'";
}

// Calls `take` with the document's text in SQLite's memory; "" if there is none.
template <class Take>
auto withDocument(Database& db, std::string_view id, values::LargeDocument which, Take take)
    -> Result<decltype(take(std::string_view()))> {
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
    ASSIGN_OR_RETURN(Statement query, db.prepare(sqlOf(which), no));
    ASSIGN_OR_RETURN(const bool isThere, query.step());
    return take(isThere ? query.blobAt(0) : std::string_view());
}

}  // namespace

Result<std::string> DocumentPages::document(std::string_view id,
                                            values::LargeDocument which) const {
    MutexLock lock(file_.browseMutex);
    return withDocument(*file_.browser, id, which,
                        [](std::string_view text) { return toUtf8(text); });
}

Result<DocumentPage> DocumentPages::documentPage(std::string_view id, values::LargeDocument which,
                                                 std::int64_t offset, std::int64_t bytesMax) const {
    if (offset < 0 || bytesMax < 1) {
        return invalidArgument("a page of a document begins at 0 or later and has a byte at least");
    }
    MutexLock lock(file_.browseMutex);
    return withDocument(*file_.browser, id, which, [&](std::string_view text) {
        const std::size_t from = std::min(static_cast<std::size_t>(offset), text.size());
        return DocumentPage{std::string(text.substr(from, static_cast<std::size_t>(bytesMax))),
                            static_cast<std::int64_t>(text.size()),
                            text.empty() ? "" : hashHex(text)};
    });
}

}  // namespace millrace::runs
