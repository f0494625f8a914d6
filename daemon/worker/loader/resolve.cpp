#include "daemon/worker/loader/resolve.h"

#include <algorithm>
#include <filesystem>

#include "backend/core/files.h"
#include "backend/core/paths.h"
#include "backend/core/text.h"
#include "backend/dataset/plan_builder.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/stream/steps.h"
#include "daemon/worker/loader/labels.h"

namespace millrace::loader {
namespace {

using DatasetPtr = std::shared_ptr<const dataset::Dataset>;

// Resolves the runs of one text; what the base decided (segment size, columns) goes on to the
// variations.
class Resolver {
 public:
    Resolver(const ResolveRequest& request, const spec::SpecReader& reader)
        : request_(request),
          reader_(reader),
          cache_(factsCache()),
          tables_(recipe::diskTables(request.baseDir, cache_)) {}

    bool resolve(const std::string& variation, ResolveReply& reply);

 private:
    Result<DatasetPtr> open(const spec::DatasetSpec& section);
    bool openAll(ResolvedRun& run, DatasetPtr& train, DatasetPtr& eval, ResolveReply& reply);
    Status plan(ResolvedRun& run, const dataset::Dataset& train, const dataset::Dataset* eval);
    void checkLabelsOf(ResolvedRun& run, ResolveReply& reply);
    void noteDraws(ResolvedRun& run) const;

    const ResolveRequest& request_;
    const spec::SpecReader& reader_;
    std::shared_ptr<dataset::FactsCache> cache_;
    recipe::TableSource tables_;
    std::map<std::string, DatasetPtr> opened_;
    std::vector<std::string> baseColumns_;
    std::int64_t baseSegmentSplits_ = 0;
    bool isBaseKnown_ = false;
};

std::string keyOf(const spec::DatasetSpec& section) {
    std::string key = dataset::readOptionsOf(section).cacheKey();
    for (const std::string& path : section.path) {
        strAppend(&key, "\n", path);
    }
    return key;
}

Result<DatasetPtr> Resolver::open(const spec::DatasetSpec& section) {
    DatasetPtr& opened = opened_[keyOf(section)];
    if (!opened) {
        ASSIGN_OR_RETURN(opened, dataset::Dataset::open(section.path, request_.baseDir,
                                                        dataset::readOptionsOf(section), cache_));
    }
    return opened;
}

bool Resolver::openAll(ResolvedRun& run, DatasetPtr& train, DatasetPtr& eval, ResolveReply& reply) {
    Result<DatasetPtr> opened = open(run.spec.dataset);
    if (!opened.ok()) {
        reply.errors.push_back(errorOf(opened.status(), "dataset.path", "file", &run.spec));
        return false;
    }
    train = *opened;
    run.warnings.insert(run.warnings.end(), train->notes().begin(), train->notes().end());
    if (run.spec.eval && run.spec.eval->dataset.path != run.spec.dataset.path) {
        opened = open(run.spec.eval->dataset);
        if (!opened.ok()) {
            reply.errors.push_back(
                errorOf(opened.status(), "eval.dataset.path", "file", &run.spec));
            return false;
        }
        eval = *opened;
        run.warnings.insert(run.warnings.end(), eval->notes().begin(), eval->notes().end());
    }
    return true;
}

Status Resolver::plan(ResolvedRun& run, const dataset::Dataset& train,
                      const dataset::Dataset* eval) {
    if (isBaseKnown_ && run.spec.batch.segmentSplits == 0) {
        run.spec.batch.segmentSplits = baseSegmentSplits_;
    }
    ASSIGN_OR_RETURN(run.plan,
                     dataset::buildPlan(run.spec, train, eval, baseColumns_, &run.warnings));
    run.spec.batch.segmentSplits = run.plan.segmentSplits;
    RETURN_IF_ERROR(
        stream::Dealing::make(run.spec.batch.rows, run.spec.batch.microRows, run.spec.train.ranks)
            .status());
    run.specHash = spec::specHash(run.spec);
    run.streamHash = spec::streamHash(run.spec);
    run.planHash = run.plan.planHash();
    return okStatus();
}

void Resolver::noteDraws(ResolvedRun& run) const {
    const bool isNoted =
        std::any_of(run.warnings.begin(), run.warnings.end(), [](const auto& text) {
            return text.find("`by`") != std::string::npos || text.find("'by'") != std::string::npos;
        });
    for (const spec::Step& step : run.spec.recipe) {
        if (!isNoted && step.enabled && step.kind == spec::StepKind::kSample && step.by.empty() &&
            step.keep < 1) {
            run.warnings.push_back(strCat("recipe step '", step.name,
                                          "' draws without `by`: rewriting the files changes which "
                                          "rows it keeps"));
        }
    }
}

void Resolver::checkLabelsOf(ResolvedRun& run, ResolveReply& reply) {
    const auto findings = checkLabels(run.spec, run.plan);
    if (!findings.ok()) {
        reply.errors.push_back(errorOf(findings.status(), "dataset", "file", nullptr));
        return;
    }
    for (const LabelFinding& finding : *findings) {
        if (finding.isCertain) {
            reply.errors.push_back(errorOf(invalidArgument(finding.message),
                                           strCat("labels.", finding.head), "check", &run.spec));
        } else {
            run.warnings.push_back(finding.message);
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
    if (variation.empty()) {
        reply.columns = bound.columns;
    }
    if (!bound.ok()) {
        reply.errors.insert(reply.errors.end(), bound.errors.begin(), bound.errors.end());
        return false;
    }
    if (!isBaseKnown_) {
        baseColumns_ = dataset::columnsRead(run.spec, train->schema());
    }
    const Status planned = plan(run, *train, eval.get());
    if (!planned.ok()) {
        const bool isOrder = messageOf(planned).rfind("batch.order: ", 0) == 0;
        reply.errors.push_back(errorOf(planned, isOrder ? "batch.order" : "", "check", &run.spec));
        return false;
    }
    if (!isBaseKnown_) {
        baseSegmentSplits_ = run.spec.batch.segmentSplits;
        isBaseKnown_ = true;
    }
    noteDraws(run);
    if (request_.checksLabels) {
        checkLabelsOf(run, reply);
    }
    reply.runs.push_back(std::move(run));
    return reply.errors.size() == errorsBefore;
}

// Errors that the base and several variations share are told once.
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

// The dataset of a spec that could not be read as a whole.
DatasetPtr openSection(const ResolveRequest& request,
                       const std::shared_ptr<dataset::FactsCache>& cache) {
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

spec::SpecError errorOf(const Status& status, std::string path, std::string code,
                        const spec::RunSpec* spec) {
    spec::SpecError error;
    error.message = std::string(messageOf(status));
    error.path = std::move(path);
    error.code = std::move(code);
    if (spec != nullptr && spec->source != nullptr) {
        const spec::Position place = spec->source->find(error.path);
        error.line = place.line;
        error.column = place.column;
    }
    return error;
}

std::shared_ptr<dataset::FactsCache> factsCache() {
    return std::make_shared<dataset::FactsCache>(cacheDirectory() + "/facts");
}

ResolveReply resolveSpec(const ResolveRequest& request) {
    ResolveReply reply;
    const auto reader = spec::SpecReader::parse(
        request.text, {request.fileName, request.baseDir, request.sets}, reply.errors);
    if (!reader) {
        reply.dataset = request.wantsColumns ? openSection(request, factsCache()) : nullptr;
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
    // The base comes first in any case: its segments and columns are the variations' too.
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
    for (const std::string& variation : wanted) {
        if (!variation.empty()) {
            resolver.resolve(variation, reply);
        }
    }
    if (!reply.errors.empty()) {
        dropRepeats(reply.errors);
        reply.runs.clear();
    }
    return reply;
}

Result<ResolvedRun> resolveFile(const std::string& given, const std::string& variation,
                                const std::vector<std::string>& sets) {
    const std::string path = absolutePath(given, std::filesystem::current_path().string());
    ResolveRequest request;
    ASSIGN_OR_RETURN(request.text, readFile(path, std::size_t{64} << 20));
    request.fileName = given;
    request.baseDir = std::filesystem::path(path).parent_path().string();
    request.variations = {variation};
    request.sets = sets;
    ResolveReply reply = resolveSpec(request);
    if (!reply.errors.empty()) {
        return spec::toStatus(reply.errors, given);
    }
    return std::move(reply.runs.front());
}

}  // namespace millrace::loader
