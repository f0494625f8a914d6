// Writes tests/golden/formats again with today's programs; do this only after you have raised a
// version on purpose (docs/formats/compatibility.md). The first argument is the directory for the
// files.
#include <cstdio>
#include <filesystem>

#include <sqlite3.h>

#include "backend/filesystem/files.h"
#include "backend/frame/codec.h"
#include "backend/runs/run_store.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/formats/golden_values.h"

namespace millrace::golden {
namespace {

Status writeFrames(const std::string& directory) {
    const frame::FrameBuffer buffer = frameBytes();
    const auto text = [](const void* data, std::size_t size) {
        return std::string_view(static_cast<const char*>(data), size);
    };
    RETURN_IF_ERROR(
        writeFileAtomic(directory + "/frame.bin", text(buffer.bytes().data(), buffer.size())));
    ASSIGN_OR_RETURN(const frame::FrameView view, frame::FrameView::open(buffer.bytes()));
    frame::FrameEncoder encoder(frame::CodecPlan(view.numColumns(), {frame::Codec::kLz4, 0}));
    std::vector<std::byte> coded;
    RETURN_IF_ERROR(encoder.encode(view, coded));
    return writeFileAtomic(directory + "/coded_frame.bin", text(coded.data(), coded.size()));
}

Status fillStore(const std::string& path) {
    const FakeClock clock;
    ASSIGN_OR_RETURN(const auto store, runs::RunStore::open(path, clock));
    runs::RunRecord run;
    run.name = "films";
    run.owner = "ada";
    run.specText = "name: films\n";
    run.resolvedSpec = R"({"batch":{"rows":1024}})";
    run.streamHash = std::string(32, 'a');
    ASSIGN_OR_RETURN(const auto created, store->create(run));
    const std::string id = created.run.id;
    RETURN_IF_ERROR(store->beginAttempt(id, 1, 0));
    runs::LineBatch batch{id, 1, "rank0", 2};
    batch.rank = 0;
    batch.metrics.push_back({1, 1, 0, 1'024, clock.wallMs(), {{"loss", 0.5}}});
    batch.metrics.push_back({2, 2, 0, 2'048, clock.wallMs() + 100, {{"loss", 0.25}}});
    RETURN_IF_ERROR(store->commitLines(batch).status());
    return store->setState(id, {values::RunState::kFinished, "", 1});
}

// One file, as small as possible.
Status writeStore(const std::string& path) {
    for (const char* end : {"", "-wal", "-shm"}) {
        std::filesystem::remove(path + end);
    }
    RETURN_IF_ERROR(fillStore(path));
    sqlite3* db = nullptr;
    const char* const small = "PRAGMA journal_mode=DELETE; PRAGMA page_size=512; VACUUM;";
    const bool isWell = ::sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
                        ::sqlite3_exec(db, small, nullptr, nullptr, nullptr) == SQLITE_OK;
    ::sqlite3_close(db);
    return isWell ? okStatus() : internalError(path, ": cannot be made small");
}

Status writeAll(const std::string& to) {
    RETURN_IF_ERROR(makeDirectories(to));
    RETURN_IF_ERROR(writeFileAtomic(to + "/job.json", job().toText()));
    RETURN_IF_ERROR(writeFileAtomic(to + "/cursor.json", state().toText()));
    RETURN_IF_ERROR(writeFileAtomic(to + "/receipt.json", dumpJson(receipt().toJson())));
    RETURN_IF_ERROR(writeCheckpoint(to + "/" + kCheckpointName));
    RETURN_IF_ERROR(writeFrames(to));
    RETURN_IF_ERROR(scores::writeScores(to, evaluationScores()));
    return writeStore(to + "/store.sqlite");
}

}  // namespace
}  // namespace millrace::golden

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: make_golden DIRECTORY\n");
        return 2;
    }
    const millrace::Status status = millrace::golden::writeAll(argv[1]);
    if (!status.ok()) {
        std::fprintf(stderr, "make_golden: %s\n", std::string(millrace::messageOf(status)).c_str());
    }
    return status.ok() ? 0 : 1;
}
