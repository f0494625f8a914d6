#include "daemon/agent/head.h"

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/filesystem/files.h"
#include "backend/system/network_interface.h"

namespace millrace::agent {
namespace {

constexpr std::chrono::milliseconds kCheckTime{2'000};

Status checkPrograms(const std::string& binDir) {
    for (const char* name : {"millrace-exec", "millrace-loader"}) {
        const std::string path = strCat(binDir, "/", name);
        if (::access(path.c_str(), X_OK) != 0) {
            return notFound(path, ": not there; --bin-dir names the workers' directory");
        }
    }
    return okStatus();
}

// The wheel contains no trainer, because LibTorch is larger than everything else in it.
std::string whyNoTrainer(const std::string& binDir) {
    const std::string path = strCat(binDir, "/millrace-trainer");
    return ::access(path.c_str(), X_OK) == 0
               ? ""
               : strCat("model: this daemon trains no models: ", path,
                        " is not there (a build has it, the wheel has not); read the stream in a "
                        "script of your own by `import millrace`, or use a daemon of a build");
}

// Reports damage at the start, not only when someone reads the damaged part. A store that is too
// large to be checked in this time is not checked to its end.
std::string damageOf(const runs::RunStore& store) {
    const auto end = std::chrono::steady_clock::now() + kCheckTime;
    const Result<values::StoreCheck> check =
        store.check(false, [end] { return std::chrono::steady_clock::now() > end; });
    if (absl::IsDeadlineExceeded(check.status())) {
        logInfo("store: too large for a check at the start; 'millrace doctor' looks through it",
                {});
        return "";
    }
    if (check.ok() && check->damage.empty()) {
        return "";
    }
    const std::string text = check.ok()
                                 ? strCat("the run store is damaged (", check->damage.front(),
                                          "); restore it from a copy, or what is damaged is lost")
                                 : std::string(messageOf(check.status()));
    logError("store: damaged", {{"what", text}});
    return text;
}

}  // namespace

Result<std::unique_ptr<Head>> Head::open(const config::DaemonConfig& config, const Clock& clock) {
    std::unique_ptr<Head> head(new Head());
    RETURN_IF_ERROR(head->build(config, clock));
    return head;
}

Status Head::build(const config::DaemonConfig& config, const Clock& clock) {
    RETURN_IF_ERROR(checkPrograms(config.binDir));
    RETURN_IF_ERROR(makePrivateDirectory(config.runsDir()));
    ASSIGN_OR_RETURN(store_, runs::RunStore::open(config.storePath(), clock));
    checkpoints_ = std::make_unique<CheckpointCatalogue>(*store_, config.runsDir());
    logs_ = std::make_unique<job::FileLogs>(config.runsDir());
    telemetry_ = std::make_unique<TelemetryService>(clock, live_, config.stateDir,
                                                    std::string(config::daemonVersion()));
    NodeTableOptions nodes{telemetry_->info().name, config.nodeAway, config.drainedFile()};
    ASSIGN_OR_RETURN(nodes.drained, DrainedNodes::read(nodes.drainedFile));
    nodes.trainsHere = config.trainsHere;
    nodes_ = std::make_unique<NodeTable>(std::move(nodes), clock, *logs_);
    ASSIGN_OR_RETURN(tokens_, JoinTokens::open(config.nodesTokensFile()));
    engines::EmbeddedOptions options;
    options.gpus =
        telemetry::usableGpus(telemetry_->info().gpus, std::getenv("CUDA_VISIBLE_DEVICES"));
    options.root = config.runsDir();
    options.execProgram = config.binDir + "/millrace-exec";
    ASSIGN_OR_RETURN(engine_, engines::EmbeddedEngine::open(options, clock));
    LoaderInspectorOptions inspect;
    inspect.program = config.binDir + "/millrace-loader";
    inspect.trainsHere = config.trainsHere;
    inspector_ = std::make_unique<LoaderInspector>(std::move(inspect));
    inspection_ =
        std::make_unique<Inspection>(*inspector_, values::kSpecBytesMax, config.runsDir(),
                                     [store = store_.get()](const std::string& run) {
                                         return store->document(run, values::LargeDocument::kPlan);
                                     });
    poller_ = std::make_unique<engines::Poller>(*engine_);
    const auto poke = [this] { poller_->poke(); };
    OwnNodeOptions own{telemetry_->info().name, config.runsDir(), config.binDir, config.trainsHere,
                       config.nodesHost()};
    own.interface = own.address.empty() ? "" : interfaceFacing(own.address);
    allNodes_ = std::make_unique<AllNodes>(OwnNode(std::move(own), *engine_, poke), *nodes_);
    ControllerOptions control;
    control.warning = damageOf(*store_);
    control.runsDir = config.runsDir();
    control.noTrainer = whyNoTrainer(config.binDir);
    control.times = {config.silentAfter.count() * kNsPerMs, config.crewPace.count() * kNsPerMs};
    control.sharedCheckpoints = config.checkpoints;
    control.countValues = [this](const auto&... of) { return countValues(*inspector_, of...); };
    controller_ = std::make_unique<RunController>(std::move(control),
                                                  ControllerParts{.store = *store_,
                                                                  .engine = *engine_,
                                                                  .listeners = listeners_,
                                                                  .live = live_,
                                                                  .clock = clock,
                                                                  .logs = *logs_,
                                                                  .pokeEngine = poke,
                                                                  .nodes = *allNodes_,
                                                                  .system = telemetry_.get()});
    const values::NodeInfo& node = telemetry_->info();
    ServiceOptions service{config.runsDir(), node.name,          values::kSpecBytesMax,
                           node.version,     hardwareJson(node), whyNoTrainer(config.binDir)};
    deleted_ = std::make_unique<DeletedRuns>(config.runsDir(), *store_, clock,
                                             std::chrono::days(config.keepDeletedDays));
    service_ = std::make_unique<RunService>(std::move(service), *store_, live_, *inspector_,
                                            *controller_, *deleted_);
    RETURN_IF_ERROR(controller_->recover());
    controller_->start();
    deleted_->start();
    poller_->run([this](const std::string& key, const engines::State& state) {
        controller_->post(key, state);
    });
    return okStatus();
}

// The controller wakes the poller and the poller posts to the controller, so both threads end
// before either object is destroyed.
Head::~Head() {
    if (controller_ != nullptr) {
        controller_->end();
    }
    poller_.reset();
}

}  // namespace millrace::agent
