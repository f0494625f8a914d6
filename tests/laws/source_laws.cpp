#include "tests/laws/source_laws.h"

#include <algorithm>
#include <set>

namespace millrace::laws {
namespace {

std::vector<RoomLaw> backendRooms() {
    return {
        {"backend/core/", {}},
        {"backend/text/", {"backend/core/"}},
        {"backend/filesystem/", {"backend/core/", "backend/text/"}},
        {"backend/system/", {"backend/core/", "backend/text/", "backend/filesystem/"}},
        {"backend/options/", {"backend/core/", "backend/text/"}},
        {"backend/values/", {}},
        {"backend/expr/", {"backend/core/", "backend/text/", "backend/filesystem/"}},
        {"backend/spec/", {"backend/core/", "backend/text/", "backend/expr/"}},
        {"backend/job/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/spec/run_spec.h"}},
        {"backend/stream/state/", {"backend/core/"}},
        {"backend/stream/", {"backend/core/", "backend/text/", "backend/expr/schema.h"}},
        {"backend/objects/", {"backend/core/", "backend/filesystem/"}},
        {"backend/arrays/", {"backend/core/", "backend/text/", "backend/expr/schema.h"}},
        {"backend/files/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/expr/schema.h",
          "backend/spec/data_format.h", "backend/objects/object_store.h",
          "backend/arrays/arrow_bridge.h"}},
        {"backend/pages/", {"backend/core/", "backend/arrays/", "backend/files/"}},
        {"backend/csv/",
         {"backend/core/", "backend/text/", "backend/expr/schema.h", "backend/spec/data_format.h",
          "backend/objects/object_store.h", "backend/arrays/", "backend/files/"}},
        {"backend/dataset/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/expr/", "backend/spec/",
          "backend/stream/plan.h", "backend/objects/object_store.h", "backend/arrays/",
          "backend/files/", "backend/pages/", "backend/csv/"}},
        {"backend/elementary/", {}},
        {"backend/eval/",
         {"backend/core/", "backend/text/", "backend/elementary/elementary.h", "backend/expr/",
          "backend/arrays/"}},
        {"backend/recipe/",
         {"backend/core/", "backend/text/", "backend/expr/", "backend/spec/", "backend/arrays/",
          "backend/pages/row_selection.h", "backend/dataset/", "backend/eval/"}},
        {"backend/frame/", {"backend/core/"}},
        {"backend/feed/link/",
         {"backend/core/mutex.h", "backend/core/whole_io.h", "backend/stream/state/tiny_json.h",
          "backend/feed/c_wall.h", "backend/feed/feed_reader.h", "backend/feed/own_socket.h",
          "backend/feed/ring_layout.h"}},
        {"backend/feed/",
         {"backend/core/mutex.h", "backend/stream/state/", "backend/frame/format.h"}},
        {"backend/ring/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/system/",
          "backend/stream/state/", "backend/stream/frame_book.h", "backend/stream/frame_part.h",
          "backend/frame/", "backend/feed/ring_layout.h"}},
        {"backend/segment/sequence/",
         {"backend/core/", "backend/text/", "backend/system/numa.h",
          "backend/system/shared_memory.h", "backend/stream/", "backend/frame/",
          "backend/ring/frame_sink.h", "backend/segment/"}},
        {"backend/segment/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/expr/schema.h",
          "backend/spec/", "backend/stream/", "backend/objects/object_store.h", "backend/arrays/",
          "backend/pages/row_selection.h", "backend/dataset/", "backend/recipe/",
          "backend/frame/"}},
        {"backend/table/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/expr/schema.h",
          "backend/spec/", "backend/stream/plan.h", "backend/arrays/", "backend/dataset/",
          "backend/recipe/compiled_recipe.h", "backend/frame/", "backend/segment/work_stealing.h",
          "backend/segment/stage_counters.h"}},
        {"backend/profile/",
         {"backend/core/", "backend/text/", "backend/expr/expression.h", "backend/expr/schema.h",
          "backend/expr/time_format.h", "backend/arrays/", "backend/pages/parquet_columns.h",
          "backend/dataset/", "backend/table/"}},
        {"backend/rank/",
         {"backend/core/", "backend/text/", "backend/system/", "backend/values/frame_traffic.h",
          "backend/values/phase_times.h", "backend/feed/link/page_link.h"}},
    };
}

// The rooms behind runs: training, the store, processes.
std::vector<RoomLaw> runRooms() {
    return {
        {"backend/certificate/", {"backend/core/", "backend/filesystem/"}},
        {"backend/checkpoint/", {"backend/core/", "backend/text/", "backend/filesystem/"}},
        {"backend/scores/", {"backend/core/", "backend/filesystem/"}},
        {"backend/train/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/values/metric_names.h",
          "backend/values/phase_times.h", "backend/feed/feed_reader.h", "backend/rank/",
          "backend/checkpoint/", "backend/scores/score_file.h", "backend/system/unix_socket.h"}},
        {"backend/search/", {"backend/core/", "backend/text/", "backend/values/run_state.h"}},
        {"backend/runs/", {"backend/core/", "backend/text/", "backend/values/", "backend/search/"}},
        {"backend/schedule/", {"backend/core/", "backend/text/"}},
        {"backend/engines/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/values/hand_over.h",
          "backend/system/", "backend/job/", "backend/schedule/node_fit.h"}},
        {"backend/telemetry/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/values/node.h",
          "backend/system/machine_cores.h", "backend/system/machine_memory.h"}},
    };
}

std::vector<RoomLaw> workerRooms() {
    return {
        {"daemon/worker/exec/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/system/"}},
        {"daemon/worker/trainer/",
         {"backend/core/", "backend/filesystem/", "backend/system/machine_memory.h",
          "backend/spec/column_origins.h", "backend/spec/training/optimisation.h",
          "backend/spec/trainable.h", "backend/job/", "backend/train/"}},
        {"daemon/worker/loader/",
         {"backend/core/",
          "backend/text/",
          "backend/filesystem/",
          "backend/system/",
          "backend/options/stream_options.h",
          "backend/values/frame_traffic.h",
          "backend/values/metric_names.h",
          "backend/expr/schema.h",
          "backend/spec/",
          "backend/job/",
          "backend/stream/",
          "backend/dataset/",
          "backend/recipe/",
          "backend/frame/",
          "backend/feed/",
          "backend/ring/",
          "backend/segment/",
          "backend/table/",
          "backend/profile/",
          "backend/rank/",
          "backend/telemetry/probes.h",
          "backend/checkpoint/checkpoint_name.h",
          "backend/scores/"}},
        {"daemon/worker/data/",
         {"backend/core/", "backend/text/", "backend/system/", "backend/objects/credentials.h",
          "backend/objects/handed_credentials.h", "backend/objects/object_store.h",
          "backend/values/frame_traffic.h", "backend/ring/frame_ledger.h", "backend/stream/",
          "backend/frame/", "backend/segment/", "daemon/transport/", "daemon/worker/loader/",
          "daemon/worker/wire/", "daemon/worker/relay/followers.h", "daemon/worker/relay/relay.h"}},
        {"daemon/worker/wire/",
         {"backend/core/", "backend/stream/", "backend/segment/memory/buffer_pool.h",
          "backend/segment/sequence/remote_frames.h"}},
        {"daemon/worker/relay/",
         {"backend/core/", "backend/system/", "backend/values/metric_names.h", "backend/feed/",
          "backend/filesystem/", "backend/frame/", "backend/ring/", "backend/stream/",
          "backend/segment/sequence/remote_frames.h", "daemon/transport/", "daemon/worker/loader/",
          "daemon/worker/wire/"}},
    };
}

std::vector<RoomLaw> daemonRooms() {
    return {
        {"proto/convert/", {"backend/text/", "backend/values/"}},
        {"daemon/transport/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/system/",
          "backend/certificate/"}},
        {"daemon/config/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/system/",
          "backend/spec/settings/settings_file.h"}},
        {"daemon/agent/crew/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/values/",
          "backend/spec/run_spec.h", "backend/job/", "backend/runs/run_record.h",
          "backend/engines/engine.h"}},
        {"daemon/agent/times/",
         {"backend/core/", "backend/text/", "backend/values/", "backend/rank/rank_line.h",
          "backend/runs/", "backend/engines/engine.h"}},
        {"daemon/agent/run/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/values/",
          "backend/job/", "backend/stream/", "backend/feed/link/step_page.h", "backend/rank/",
          "backend/checkpoint/checkpoint_directory.h", "backend/scores/score_file.h",
          "backend/runs/", "backend/engines/engine.h", "daemon/agent/crew/",
          "daemon/agent/times/"}},
        {"daemon/agent/",
         {"backend/core/",
          "backend/text/",
          "backend/filesystem/",
          "backend/certificate/",
          "backend/system/network_interface.h",
          "backend/system/subprocess.h",
          "backend/values/",
          "backend/spec/run_spec.h",
          "backend/spec/spec_reader.h",
          "backend/job/",
          "backend/stream/file_changes.h",
          "backend/stream/steps.h",
          "backend/rank/",
          "backend/checkpoint/checkpoint_name.h",
          "backend/runs/",
          "backend/search/run_filter.h",
          "backend/schedule/fifo.h",
          "backend/engines/",
          "backend/telemetry/probes.h",
          "daemon/config/daemon_config.h"}},
        {"daemon/rpc/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/certificate/",
          "backend/system/", "proto/convert/", "daemon/config/daemon_config.h", "daemon/agent/"}},
        {"daemon/nodes/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/values/hand_over.h",
          "backend/system/", "backend/checkpoint/", "backend/scores/score_file.h",
          "backend/engines/", "backend/job/", "backend/telemetry/probes.h", "proto/convert/",
          "daemon/config/", "daemon/transport/", "daemon/agent/"}},
        {"daemon/*",
         {"backend/core/", "backend/filesystem/", "daemon/config/", "daemon/agent/head.h",
          "daemon/rpc/rpc_server.h", "daemon/nodes/"}},
    };
}

std::vector<RoomLaw> appRooms() {
    return {
        {"app/client/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/certificate/",
          "backend/system/unix_socket.h", "backend/values/", "proto/convert/"}},
        {"app/ssh/", {"backend/core/", "backend/filesystem/", "backend/system/"}},
        {"app/ssh/libssh/", {"backend/core/", "backend/filesystem/", "backend/system/"}},
        {"app/session/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/system/subprocess.h",
          "backend/values/", "app/client/", "app/ssh/"}},
        {"app/tui/", {"backend/core/", "backend/text/", "backend/values/", "app/session/"}},
        {"app/cli/frame/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/options/",
          "backend/values/", "app/client/", "app/session/host_book.h", "app/ssh/host.h",
          "app/tui/"}},
        {"app/cli/remote/",
         {"backend/core/", "backend/text/", "backend/system/agent_script.h", "app/ssh/", "app/tui/",
          "app/cli/frame/"}},
        {"app/cli/data/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/system/",
          "backend/values/", "app/session/", "app/tui/", "app/cli/frame/"}},
        {"app/cli/",
         {"backend/core/", "backend/text/", "backend/filesystem/",
          "backend/system/network_interface.h", "backend/system/subprocess.h",
          "backend/options/stream_options.h", "backend/values/frame_traffic.h",
          "app/client/daemon_client.h", "app/session/", "app/tui/"}},
        {"app/gui/models/",
         {"backend/core/", "backend/text/", "backend/filesystem/", "backend/expr/functions.h",
          "backend/search/attributes.h", "backend/spec/", "backend/values/", "app/session/"}},
        {"app/gui/bridge/",
         {"backend/core/", "backend/filesystem/", "backend/values/", "app/client/", "app/session/",
          "app/ssh/", "app/gui/models/ssh_question.h", "app/gui/models/spec/spec_local_check.h"}},
        {"app/gui/charts/", {"app/session/", "app/gui/models/"}},
        {"app/gui/widgets/", {"backend/values/", "app/gui/models/", "app/gui/charts/"}},
        {"app/gui/pages/",
         {"backend/core/", "backend/values/", "app/session/link.h", "app/gui/models/",
          "app/gui/bridge/", "app/gui/charts/", "app/gui/widgets/"}},
        {"app/gui/*",
         {"backend/core/", "backend/text/", "backend/filesystem/", "app/session/",
          "app/ssh/askpass.h", "app/gui/models/", "app/gui/bridge/", "app/gui/widgets/",
          "app/gui/pages/"}},
        {"app/main/",
         {"backend/core/", "backend/filesystem/", "app/session/daemon_door.h",
          "app/session/host_book.h", "app/ssh/askpass.h", "app/cli/cli.h",
          "app/cli/remote/terminal_ask.h"}},
    };
}

// Tests may include the code that they test, and tests/support.
std::vector<RoomLaw> testRooms() {
    return {
        {"tests/support/", {"backend/", "daemon/rpc/", "app/"}},
        {"tests/unit/", {"backend/", "daemon/", "proto/convert/", "app/", "tests/support/"}},
        {"tests/integration/", {"backend/", "daemon/agent/", "proto/convert/", "tests/support/"}},
        {"tests/gui/",
         {"backend/text/", "backend/filesystem/", "backend/system/subprocess.h", "app/",
          "tests/support/"}},
        {"tests/bench/",
         {"backend/", "daemon/worker/", "app/", "tests/support/", "tests/unit/agent/fakes.h",
          "tests/unit/gui_"}},
        {"tests/sim/",
         {"backend/", "daemon/agent/", "daemon/nodes/", "daemon/config/",
          "tests/unit/agent/fake_inspector.h"}},
        {"tests/fuzz/", {"backend/", "app/ssh/libssh/"}},
        {"tests/laws/", {"backend/filesystem/", "backend/system/", "tests/support/temp_dir.h"}},
    };
}

const std::vector<RoomLaw>& roomLaws() {
    static const std::vector<RoomLaw> kLaws = [] {
        std::vector<RoomLaw> all;
        for (const auto& part :
             {backendRooms(), runRooms(), workerRooms(), daemonRooms(), appRooms(), testRooms()}) {
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }();
    return kLaws;
}

// The law that binds `path`: the one with the longest matching room.
const RoomLaw* lawOf(const std::vector<RoomLaw>& laws, const std::string& path) {
    const RoomLaw* best = nullptr;
    for (const RoomLaw& law : laws) {
        const bool isBound = law.room.ends_with("/*")
                                 ? folderOf(path) == law.room.substr(0, law.room.size() - 2)
                                 : path.starts_with(law.room);
        if (isBound && (best == nullptr || law.room.size() > best->room.size())) {
            best = &law;
        }
    }
    return best;
}

bool isOurs(const std::string& target) {
    return startsWithAny(target, {"backend/", "daemon/", "proto/convert/", "app/", "tests/"});
}

// Whether `target` is in the room itself.
bool isWithin(const RoomLaw& law, const std::string& target) {
    return law.room.ends_with("/*") ? folderOf(target) == law.room.substr(0, law.room.size() - 2)
                                    : target.starts_with(law.room);
}

void checkRoom(const std::vector<RoomLaw>& laws, const SourceFile& file, const Include& include,
               std::vector<Offence>& offences) {
    if (include.target.starts_with(".")) {
        offences.push_back({file.path, include.line,
                            "a relative include hides its room: write the path from the root"});
    }
    if (!isTest(file.path) && include.target.starts_with("tests/")) {
        offences.push_back({file.path, include.line, "production code includes " + include.target});
        return;
    }
    const RoomLaw* law = lawOf(laws, file.path);
    if (law != nullptr && isOurs(include.target) && !isWithin(*law, include.target) &&
        !startsWithAny(include.target, law->mayInclude)) {
        offences.push_back(
            {file.path, include.line, law->room + " may not include " + include.target});
    }
}

void checkLibraries(const SourceFile& file, const Include& include,
                    std::vector<Offence>& offences) {
    for (const LibraryLaw& library : libraryLaws()) {
        if (std::regex_search(include.target, library.header) &&
            !startsWithAny(file.path, library.onlyIn)) {
            offences.push_back(
                {file.path, include.line,
                 library.name + " may not be included in this room: " + include.target});
        }
    }
}

// The permissions that each room uses.
std::map<std::string, std::set<std::string>> usedPermissions(const std::vector<SourceFile>& files,
                                                             const std::vector<RoomLaw>& laws) {
    std::map<std::string, std::set<std::string>> used;
    for (const SourceFile& file : files) {
        const RoomLaw* law = lawOf(laws, file.path);
        if (!isCpp(file.path) || law == nullptr) {
            continue;
        }
        for (const Include& include : includesOf(file)) {
            for (const std::string& permission : law->mayInclude) {
                if (!isWithin(*law, include.target) && include.target.starts_with(permission)) {
                    used[law->room].insert(permission);
                }
            }
        }
    }
    return used;
}

}  // namespace

const std::vector<RoomLaw>& theRooms() {
    return roomLaws();
}

std::vector<Include> includesOf(const SourceFile& file) {
    static const LinePattern kDirective = {{"include"}, std::regex("^\\s*#\\s*include\\s*[<\"]")};
    static const std::regex kTarget("[<\"]([^>\"]+)[>\"]");
    std::vector<Include> found;
    int number = 0;
    for (const std::string& line : linesOf(file.text)) {
        ++number;
        std::smatch match;
        if (kDirective.isIn(line) && std::regex_search(line, match, kTarget)) {
            found.push_back({match[1], number});
        }
    }
    return found;
}

std::vector<Offence> checkIncludes(const std::vector<SourceFile>& files,
                                   const std::vector<RoomLaw>& laws) {
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        if (!isCpp(file.path)) {
            continue;
        }
        if (lawOf(laws, file.path) == nullptr) {
            offences.push_back({file.path, 0,
                                "no law binds this file: add its room to roomLaws() "
                                "(tests/laws/source_laws.cpp) with the rooms that it may include"});
        }
        for (const Include& include : includesOf(file)) {
            checkRoom(laws, file, include, offences);
            checkLibraries(file, include, offences);
        }
    }
    return offences;
}

std::vector<Offence> checkPermissions(const std::vector<SourceFile>& files,
                                      const std::vector<RoomLaw>& laws) {
    const auto used = usedPermissions(files, laws);
    std::vector<Offence> offences;
    for (const RoomLaw& law : laws) {
        const auto place = used.find(law.room);
        std::string idle, line;
        for (const std::string& permission : law.mayInclude) {
            const bool isUsed = place != used.end() && place->second.contains(permission);
            std::string& text = isUsed ? line : idle;
            text += (text.empty() ? "\"" : ", \"") + permission + "\"";
        }
        if (!idle.empty()) {
            offences.push_back({law.room, 0,
                                "nobody there uses " + idle + ": put into roomLaws() {\"" +
                                    law.room + "\", {" + line + "}},"});
        }
        const bool hasFiles = std::any_of(files.begin(), files.end(), [&](const SourceFile& file) {
            return isCpp(file.path) && lawOf(laws, file.path) == &law;
        });
        if (!hasFiles) {
            offences.push_back({law.room, 0, "has no file: remove it from roomLaws()"});
        }
    }
    return offences;
}

std::vector<Offence> checkLibraryPermissions(const std::vector<SourceFile>& files,
                                             const std::vector<LibraryLaw>& laws) {
    std::vector<Offence> offences;
    for (const LibraryLaw& law : laws) {
        std::set<std::string> used;
        for (const SourceFile& file : files) {
            for (const Include& include : includesOf(file)) {
                if (!std::regex_search(include.target, law.header)) {
                    continue;
                }
                for (const std::string& place : law.onlyIn) {
                    if (file.path.starts_with(place)) {
                        used.insert(place);
                    }
                }
            }
        }
        for (const std::string& place : law.onlyIn) {
            if (!used.contains(place)) {
                offences.push_back(
                    {place, 0,
                     "nobody there includes " + law.name + ": remove it from libraryLaws()"});
            }
        }
    }
    return offences;
}

}  // namespace millrace::laws
