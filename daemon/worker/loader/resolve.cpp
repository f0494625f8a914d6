#include "daemon/worker/loader/resolve.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/filesystem/files.h"
#include "backend/filesystem/paths.h"
#include "backend/job/job_file.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/recipe/mixed_columns.h"
#include "backend/spec/trainable.h"
#include "backend/stream/steps.h"
#include "backend/system/machine_memory.h"
#include "backend/telemetry/probes.h"
#include "backend/text/json.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/checks/id_collisions.h"
#include "daemon/worker/loader/checks/labels.h"
#include "daemon/worker/loader/checks/mixing.h"
#include "daemon/worker/loader/checks/nulls.h"
#include "daemon/worker/loader/checks/vocabularies.h"
#include "daemon/worker/loader/counting.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/notes.h"
#include "daemon/worker/loader/progress.h"
#include "daemon/worker/loader/spec_error.h"

namespace millrace::loader {
namespace {

using DatasetPtr = std::shared_ptr<const dataset::Dataset>;

// Resolves the runs of one text; variations use what the base decided (segment size, columns).
class Resolver {
 public:
    Resolver(const ResolveRequest& request, const spec::SpecReader& reader)
        : request_(request),
          reader_(reader),
          cache_(factsCache()),
          tables_(recipe::diskTables({request.baseDir, cache_})) {}

    bool resolve(const std::string& variation, ResolveReply& reply);

 private:
    Result<DatasetPtr> open(const spec::DatasetSpec& section, const std::vector<std::string>& only);
    bool openAll(ResolvedRun& run, DatasetPtr& train, DatasetPtr& eval, ResolveReply& reply);
    Status plan(ResolvedRun& run, const dataset::Dataset& train, const dataset::Dataset* eval);
    Status countTraining(ResolvedRun& run);
    CountingOptions countingOptions(const ResolvedRun& run) const;
    Status fillVocabularies(spec::RunSpec& spec) const;
    bool resolveCommand(ResolvedRun run, ResolveReply& reply) const;
    void checkWorkers(const ResolvedRun& run, const expr::Schema& columns,
                      ResolveReply& reply) const;
    bool checkTraining(const ResolvedRun& run, const expr::Schema& columns,
                       ResolveReply& reply) const;
    void checkRows(ResolvedRun& run, ResolveReply& reply);
    void checkLabelsOf(ResolvedRun& run, ResolveReply& reply);

    const ResolveRequest& request_;
    const spec::SpecReader& reader_;
    std::shared_ptr<dataset::MetadataCache> cache_;
    recipe::TableSource tables_;
    std::map<std::string, DatasetPtr> opened_;
    std::vector<std::string> baseColumns_;
    dataset::SegmentSize baseSegments_;
    bool isBaseKnown_ = false;
    std::optional<spec::RunSpec> training_;  ///< where other rows are scored: the spec as written
};

constexpr char kCancelledCode[] = "cancelled";
constexpr int kFactsThreads = 4;

// The key at the start of an error of the plan; "" if it has none.
std::string keyIn(std::string_view message) {
    const bool hasKey = message.starts_with("batch.order: ") || message.starts_with("embeddings.");
    return std::string(hasKey ? message.substr(0, message.find(": ")) : "");
}

// "1 rank", "2 ranks".
std::string counted(std::int64_t count, std::string_view noun) {
    return strCat(count, " ", noun, count == 1 ? "" : "s");
}

// Checks that this machine has the GPUs for its ranks.
Status checkGpus(const spec::RunSpec& spec) {
    const std::int64_t ranks = spec.train.ranks / spec.train.nodes;
    const std::int64_t wanted = ranks * spec.resources.gpusPerRank;
    if (wanted == 0) {
        return okStatus();
    }
    const telemetry::GpuProbe probe;
    const auto has = static_cast<std::int64_t>(
        telemetry::usableGpus(probe.gpus(), std::getenv("CUDA_VISIBLE_DEVICES")).size());
    return wanted <= has
               ? okStatus()
               : invalidArgument("resources.gpus_per_rank: ", counted(ranks, "rank"), " with ",
                                 counted(spec.resources.gpusPerRank, "GPU"),
                                 ranks == 1 ? " needs " : " each need ", wanted,
                                 "; this machine has ", has,
                                 probe.note().empty() ? "" : strCat(" (", probe.note(), ")"));
}

/// Datasets with the same key have the same files, rows and types.
std::string keyOf(const spec::DatasetSpec& section) {
    std::string key =
        strCat(dataset::readOptionsOf(section).cacheKey(), "\n", section.missingColumns);
    for (const auto* types : {&section.types, &section.csv.types}) {
        for (const auto& [name, type] : *types) {
            strAppend(&key, "\n", name, "\t", type);
        }
        strAppend(&key, "\n");
    }
    for (const std::string& path : section.path) {
        strAppend(&key, "\n", path);
    }
    return key;
}

// `only`: as Dataset::open(); so a file that a pinned stream does not read decides nothing of it.
Result<DatasetPtr> Resolver::open(const spec::DatasetSpec& section,
                                  const std::vector<std::string>& only) {
    std::string key = keyOf(section);
    for (const std::string& path : only) {
        strAppend(&key, "\n", path);
    }
    DatasetPtr& opened = opened_[key];
    if (!opened) {
        ASSIGN_OR_RETURN(opened, dataset::Dataset::open(section.path, request_.baseDir,
                                                        dataset::readOptionsOf(section), cache_,
                                                        kFactsThreads, only));
    }
    return opened;
}

bool Resolver::openAll(ResolvedRun& run, DatasetPtr& train, DatasetPtr& eval, ResolveReply& reply) {
    const PinnedFiles pinned = request_.pinned.value_or(PinnedFiles{});
    Result<DatasetPtr> opened = open(run.spec.dataset, pinned.files);
    if (!opened.ok()) {
        reply.errors.push_back(errorOf(opened.status(), "dataset.path", "file", &run.spec));
        return false;
    }
    train = *opened;
    run.warnings.insert(run.warnings.end(), train->notes().begin(), train->notes().end());
    noteFiles(train, reply.fileNotes);
    run.badRows = run.evalBadRows = train->badRows();
    if (run.spec.eval && run.spec.eval->dataset.path != run.spec.dataset.path) {
        opened = open(run.spec.eval->dataset, pinned.evalFiles);
        if (!opened.ok()) {
            reply.errors.push_back(
                errorOf(opened.status(), "eval.dataset.path", "file", &run.spec));
            return false;
        }
        eval = *opened;
        run.warnings.insert(run.warnings.end(), eval->notes().begin(), eval->notes().end());
        noteFiles(eval, reply.fileNotes);
        run.evalBadRows = eval->badRows();
    }
    return true;
}

Status Resolver::plan(ResolvedRun& run, const dataset::Dataset& train,
                      const dataset::Dataset* eval) {
    const bool isOfBase = isBaseKnown_ && run.spec.batch.segmentSplits == 0;
    if (isOfBase) {
        run.spec.batch.segmentSplits = baseSegments_.splits;
    }
    if (request_.pinned && run.spec.batch.segmentSplits == 0) {
        run.spec.batch.segmentSplits = request_.pinned->segmentSplits;
    }
    ASSIGN_OR_RETURN(run.plan,
                     dataset::buildPlan(run.spec, train, eval, baseColumns_, &run.warnings));
    if (isOfBase) {
        run.plan.segmentRule = baseSegments_.rule;
    }
    run.spec.batch.segmentSplits = run.plan.segmentSplits;
    run.filesVersion = train.version();
    if (request_.needsIds && isPending(run.spec)) {
        RETURN_IF_ERROR(
            training_ ? countTraining(run)
                      : countValues(run.spec, run.plan, countingOptions(run), run.countedValues));
    }
    RETURN_IF_ERROR(
        stream::Dealing::make(run.spec.batch.rows, run.spec.batch.microRows, run.spec.train.ranks)
            .status());
    hashRun(run);
    return okStatus();
}

// Rows that are scored get the ids that training gave: of the run that `valuesOf` names, else of
// the spec's training rows.
Status Resolver::countTraining(ResolvedRun& run) {
    std::optional<job::JobFile> job;
    if (!request_.valuesOf.empty()) {
        ASSIGN_OR_RETURN(job, job::JobFile::read(request_.valuesOf));
        if (!job->planText.empty()) {  // jobs of other nodes have none
            ASSIGN_OR_RETURN(const Json json, parseJson(job->planText, request_.valuesOf));
            ASSIGN_OR_RETURN(const stream::Plan plan, stream::Plan::fromJson(json));
            takeCounted(job->spec, plan, run.spec, run.plan);
        }
        if (!isPending(run.spec)) {
            return okStatus();
        }
    }
    ResolvedRun training;
    training.spec = *training_;
    training.spec.eval.reset();
    ASSIGN_OR_RETURN(const DatasetPtr rows, open(training.spec.dataset, {}));
    const spec::BindResult bound = spec::bindSchema(training.spec, rows->schema(), tables_.schema);
    if (!bound.ok()) {
        return spec::toStatus(bound.errors, request_.fileName);
    }
    ASSIGN_OR_RETURN(training.plan, dataset::buildPlan(training.spec, *rows, nullptr));
    training.filesVersion = rows->version();
    RETURN_IF_ERROR(
        countValues(training.spec, training.plan, countingOptions(training), run.countedValues));
    takeCounted(training.spec, training.plan, run.spec, run.plan);
    return job ? checkSameValues(job->spec, run.spec) : okStatus();
}

// Progress goes to stderr.
CountingOptions Resolver::countingOptions(const ResolvedRun& run) const {
    CountingOptions options;
    options.filesVersion = run.filesVersion;
    options.directory = cacheDirectory(kCountedValues);
    options.mayCount = request_.mayCount;
    auto line = std::make_shared<ProgressLine>(run.plan.numRows(), "rows");
    line->setNote("counting values");
    options.progress = [line = std::move(line)](std::int64_t rows, std::int64_t, double seconds) {
        line->show(rows, seconds);
    };
    return options;
}

// An id is 1 + the value's row in the vocabulary's table, 0 for a value that is not in it.
Status Resolver::fillVocabularies(spec::RunSpec& spec) const {
    for (auto& [name, embedding] : spec.embeddings) {
        if (embedding.vocabulary && !embedding.vocabulary->isCounted()) {
            const spec::VocabularySpec& vocabulary = *embedding.vocabulary;
            const auto size = tables_.size(vocabulary.table, {vocabulary.column});
            RETURN_IF_ERROR(annotate(size.status(), strCat("embeddings.", name)));
            embedding.rows = size->rows + 1;
        }
    }
    return okStatus();
}

// Refuses before workers start what they would refuse: keys about them, the program of a command,
// GPUs.
void Resolver::checkWorkers(const ResolvedRun& run, const expr::Schema& columns,
                            ResolveReply& reply) const {
    const spec::SpecErrors errors = spec::checkTrainable(run.spec, columns);
    reply.errors.insert(reply.errors.end(), errors.begin(), errors.end());
    const auto command = run.spec.command.empty() || !request_.place
                             ? Result<std::vector<std::string>>(run.spec.command)
                             : job::resolveCommand(run.spec.command, *request_.place);
    if (!command.ok()) {
        reply.errors.push_back(errorOf(command.status(), "command", "file", &run.spec));
    }
    const Status gpus = request_.trainsHere ? checkGpus(run.spec) : okStatus();
    if (!gpus.ok()) {
        reply.errors.push_back(errorOf(gpus, "resources.gpus_per_rank", "check", &run.spec));
    }
}

/// A run without a dataset: it has nothing to open, and no plan.
bool Resolver::resolveCommand(ResolvedRun run, ResolveReply& reply) const {
    const std::size_t before = reply.errors.size();
    if (request_.isForTraining) {
        checkWorkers(run, {}, reply);
    } else {
        reply.errors.push_back(noDataset(run.spec));
    }
    run.specHash = spec::specHash(run.spec);
    reply.runs.push_back(std::move(run));
    return reply.errors.size() == before;
}

bool Resolver::checkTraining(const ResolvedRun& run, const expr::Schema& columns,
                             ResolveReply& reply) const {
    const std::size_t before = reply.errors.size();
    checkWorkers(run, columns, reply);
    const Status tables =
        request_.trainsHere ? spec::checkTableMemory(run.spec, machineMemory()) : okStatus();
    if (!tables.ok()) {
        reply.errors.push_back(errorOf(tables, "embeddings", "check", &run.spec));
    }
    const LoaderSetUp setUp = trainingSetUp(run.spec);
    const LoaderMemory memory(run.spec.resources.memoryLimitMb,
                              loaderNeed(run.spec, run.plan, setUp), setUp.wantsJoined);
    const Status admitted = memory.admitted();
    const Status relays = admitted.ok() && run.spec.train.nodes > 1
                              ? NodesMemory::of(run.spec, run.plan).admitted()
                              : admitted;
    if (!relays.ok()) {
        reply.errors.push_back(errorOf(relays, "resources.memory_limit_mb", "check", &run.spec));
    }
    return reply.errors.size() == before;
}

void Resolver::checkLabelsOf(ResolvedRun& run, ResolveReply& reply) {
    std::set<std::string> said;  // once a head with NaN, once a join
    for (const recipe::Part part : {recipe::Part::kTrain, recipe::Part::kEval}) {
        const bool isEval = part == recipe::Part::kEval;
        if (isEval && !run.spec.eval) {
            continue;
        }
        const auto findings = checkLabels(run.spec, run.plan, part, {kCheckBytes, &run.columns});
        if (!findings.ok()) {
            spec::SpecError error = errorOf(findings.status(), "", "file", &run.spec);
            error.path = !error.path.empty() ? error.path : isEval ? "eval.dataset" : "dataset";
            reply.errors.push_back(std::move(error));
            return;
        }
        for (const LabelFinding& finding : *findings) {
            const std::string path = isEval ? "eval.dataset" : strCat("labels.", finding.head);
            if (finding.isCertain) {
                reply.errors.push_back(
                    errorOf(invalidArgument(finding.message), path, "check", &run.spec));
            } else if ((!finding.isNan && !finding.isJoin) ||
                       said.insert(strCat(finding.isJoin, finding.head)).second) {
                run.warnings.push_back(finding.message);
            }
        }
    }
}

void Resolver::checkRows(ResolvedRun& run, ResolveReply& reply) {
    const std::int64_t rows = run.plan.numRows();  // `where` and the recipe may leave fewer still
    if (rows < run.spec.batch.rows) {
        run.warnings.push_back(strCat("batch.rows: ", formatCount(run.spec.batch.rows),
                                      " rows of a step are more than the ", formatCount(rows),
                                      " rows of an epoch: an epoch is one step"));
    }
    if (const Status status = checkVocabularies(run.spec, run.plan); !status.ok()) {
        reply.errors.push_back(errorOf(status, keyIn(messageOf(status)), "check", &run.spec));
        return;
    }
    checkLabelsOf(run, reply);
    noteTrainedEvaluation(run);
    for (const auto& notes :
         {checkMixing(run.spec, run.plan), checkIdCollisions(run.spec, run.plan),
          checkNulls(run.spec, run.plan, run.columns)}) {
        if (notes.ok()) {  // the check of the labels reports wrong rows
            run.warnings.insert(run.warnings.end(), notes->begin(), notes->end());
        }
    }
}

bool Resolver::resolve(const std::string& variation, ResolveReply& reply) {
    const std::size_t errorsBefore = reply.errors.size();
    spec::ResolvedSpec read = reader_.resolve(variation);
    ResolvedRun run;
    run.variation = variation;
    run.warnings = std::move(read.warnings);
    if (!read.ok()) {
        reply.errors.insert(reply.errors.end(), read.errors.begin(), read.errors.end());
        return false;
    }
    run.spec = std::move(*read.spec);
    if (!run.spec.hasDataset()) {
        return resolveCommand(std::move(run), reply);
    }
    if (request_.isForScoring && !run.spec.eval) {
        const Status missing = invalidArgument(
            "eval.dataset is missing: it names rows, as in `eval: {dataset: {path: new.parquet}}`");
        reply.errors.push_back(errorOf(missing, "eval.dataset", "missing", nullptr));
        return false;
    }
    if (request_.isForScoring) {
        training_ = run.spec;
        run.spec = spec::evaluationRows(std::move(run.spec));
    }
    DatasetPtr train, eval;
    if (!openAll(run, train, eval, reply)) {
        return false;
    }
    if (variation.empty()) {
        reply.dataset = train;
    }
    const spec::BindResult bound = spec::bindSchema(run.spec, train->schema(), tables_.schema,
                                                    eval ? &eval->schema() : nullptr);
    run.warnings.insert(run.warnings.end(), bound.warnings.begin(), bound.warnings.end());
    run.columns = bound.columns;
    if (variation.empty()) {
        reply.columns = bound.columns;
    }
    if (!bound.ok()) {
        addBindErrors(bound.errors, *train, eval.get(), run.spec, reply.errors);
        return false;
    }
    const Status mixed =
        recipe::checkMixed(run.spec, train->mixed(), (eval ? eval : train)->mixed());
    const Status vocabularies = mixed.ok() ? fillVocabularies(run.spec) : okStatus();
    if (!mixed.ok() || !vocabularies.ok()) {
        reply.errors.push_back(mixed.ok() ? errorOf(vocabularies, "embeddings", "file", &run.spec)
                                          : errorOf(mixed, "dataset.types", "type", &run.spec));
        return false;
    }
    if (!isBaseKnown_) {
        baseColumns_ = dataset::columnsRead(run.spec, train->schema());
    }
    const Status planned = plan(run, *train, eval.get());
    if (!planned.ok()) {
        const char* const code = absl::IsCancelled(planned) ? kCancelledCode : "check";
        reply.errors.push_back(errorOf(planned, keyIn(messageOf(planned)), code, &run.spec));
        return false;
    }
    if (!isBaseKnown_) {
        baseSegments_ = {run.plan.segmentSplits, run.plan.segmentRule};
        isBaseKnown_ = true;
    }
    addNotes(run, {request_.baseDir, cache_});
    if (request_.isForTraining && checkTraining(run, bound.columns, reply)) {
        checkRows(run, reply);
    }
    reply.runs.push_back(std::move(run));
    return reply.errors.size() == errorsBefore;
}

// Errors from `first` on are a variation's: names it in them, unless another has the same error.
void nameVariation(const std::string& variation, std::size_t first, spec::SpecErrors& errors) {
    const std::string prefix = strCat("variation '", variation, "': ");
    const auto before = errors.begin() + static_cast<std::ptrdiff_t>(first);
    for (auto error = before; error != errors.end(); ++error) {
        const bool isShared = std::any_of(errors.begin(), before, [&](const auto& other) {
            return other.line == error->line && other.column == error->column &&
                   (other.message == error->message ||
                    other.message.ends_with(": " + error->message));
        });
        if (isShared) {
            error->message.clear();
        } else if (error->path != "variations" && !error->message.starts_with(prefix)) {
            error->message.insert(0, prefix);
        }
    }
    errors.erase(std::remove_if(before, errors.end(),
                                [](const auto& error) { return error.message.empty(); }),
                 errors.end());
}

// Errors that the base and several variations share are reported once.
void dropRepeats(spec::SpecErrors& errors) {
    spec::SpecErrors unique;
    for (const spec::SpecError& error : errors) {
        const bool isKnown = std::any_of(unique.begin(), unique.end(), [&error](const auto& other) {
            return other.line == error.line && other.column == error.column &&
                   other.message == error.message;
        });
        if (!isKnown) {
            unique.push_back(error);
        }
    }
    errors = std::move(unique);
}

// Opens the dataset of a spec that could not be read as a whole.
DatasetPtr openSection(const ResolveRequest& request,
                       const std::shared_ptr<dataset::MetadataCache>& cache) {
    const auto section =
        spec::readDataset(request.text, {request.fileName, request.baseDir, request.sets});
    if (!section) {
        return nullptr;
    }
    const auto opened = dataset::Dataset::open(section->path, request.baseDir,
                                               dataset::readOptionsOf(*section), cache);
    return opened.ok() ? *opened : nullptr;
}

}  // namespace

void hashRun(ResolvedRun& run) {
    run.specHash = spec::specHash(run.spec);
    run.streamHash = spec::streamHash(run.spec);
    run.planHash = run.plan.planHash();
}

std::shared_ptr<dataset::MetadataCache> factsCache() {
    return std::make_shared<dataset::MetadataCache>(cacheDirectory("facts"));
}

ResolveReply resolveSpec(const ResolveRequest& request) {
    ResolveReply reply;
    const auto reader =
        spec::SpecReader::parse(request.text,
                                {request.fileName, request.baseDir, request.sets,
                                 /*needsLabels=*/request.needsIds && !request.isForScoring,
                                 /*needsFeatures=*/request.needsIds},
                                reply.errors);
    if (!reader) {
        reply.dataset = request.wantsColumns ? openSection(request, factsCache()) : nullptr;
        noteFiles(reply.dataset, reply.fileNotes);
        return reply;
    }
    std::vector<std::string> wanted = request.variations;
    if (request.isAll) {
        wanted = {""};
        wanted.insert(wanted.end(), reader->variations().begin(), reader->variations().end());
    } else if (wanted.empty()) {
        wanted = {""};
    }
    Resolver resolver(request, *reader);
    // The base always comes first: variations use its segments and columns too.
    const bool wantsBase = std::find(wanted.begin(), wanted.end(), "") != wanted.end();
    ResolveReply base;
    resolver.resolve("", wantsBase ? reply : base);
    if (!wantsBase) {
        reply.dataset = base.dataset;
        reply.columns = base.columns;
    }
    if (reply.dataset == nullptr && request.wantsColumns) {
        reply.dataset = openSection(request, factsCache());
    }
    noteFiles(reply.dataset, reply.fileNotes);
    for (const std::string& variation : wanted) {
        if (!variation.empty()) {
            const std::size_t first = reply.errors.size();
            resolver.resolve(variation, reply);
            nameVariation(variation, first, reply.errors);
        }
    }
    if (!reply.errors.empty()) {
        dropRepeats(reply.errors);
        reply.runs.clear();
    }
    return reply;
}

Result<ResolvedRun> resolveFile(const SpecChoice& choice) {
    const std::string& given = choice.specPath;
    const std::string path = absolutePath(given, std::filesystem::current_path().string());
    ResolveRequest request;
    ASSIGN_OR_RETURN(request.text, readFile(path, std::size_t{64} << 20));
    ASSIGN_OR_RETURN(request.pinned, readPinned(choice.pinnedPath));
    request.fileName = given;
    request.baseDir = std::filesystem::path(path).parent_path().string();
    request.variations = {choice.variation};
    request.sets = choice.sets;
    request.isForScoring = choice.isForScoring;
    request.mayCount = true;
    request.needsIds = choice.needsIds;
    request.valuesOf = choice.valuesOf;
    ResolveReply reply = resolveSpec(request);
    if (!reply.errors.empty()) {
        printNotes(reply.fileNotes);
        return reply.errors.front().code == kCancelledCode ? cancelled("stopped")
                                                           : spec::toStatus(reply.errors, given);
    }
    return std::move(reply.runs.front());
}

}  // namespace millrace::loader
