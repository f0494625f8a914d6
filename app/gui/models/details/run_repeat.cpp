#include "app/gui/models/details/run_repeat.h"

#include <QObject>
#include <QStringList>
#include <algorithm>

#include "app/gui/models/details/run_cli.h"
#include "app/gui/models/run_text.h"
#include "backend/spec/hash_keys.h"
#include "backend/spec/run_spec.h"
#include "backend/text/json.h"

namespace millrace::gui {
namespace {

constexpr qsizetype kMostKeys = 4;  // the most keys that a sentence names

QString tr(const char* text) {
    return QObject::tr(text);
}

// The keys of a resolved spec that its hash covers, by path.
std::map<std::string, std::string> hashedKeys(const std::string& resolvedSpec) {
    Json json = parseJson(resolvedSpec, "resolved spec").value_or(Json::object());
    for (const std::string_view key : spec::kKeysOutsideHash) {
        json.erase(std::string(key));
    }
    return spec::flattenParams(json);
}

QString valueOf(const std::map<std::string, std::string>& keys, const std::string& key) {
    const auto found = keys.find(key);
    return found == keys.end() ? noneText() : qtext(found->second);
}

QStringList changedKeys(const std::string& before, const std::string& now) {
    const auto old = hashedKeys(before), fresh = hashedKeys(now);
    std::map<std::string, std::string> all = old;
    all.insert(fresh.begin(), fresh.end());
    QStringList changes;
    for (const auto& [key, value] : all) {
        const QString then = valueOf(old, key), after = valueOf(fresh, key);
        if (then != after) {
            changes.append(QStringLiteral("%1 %2 \u2192 %3").arg(qtext(key), then, after));
        }
    }
    return changes;
}

QString differenceOfSpecs(const values::RunDetail& run, const values::CheckedRun& now) {
    const QStringList changes = changedKeys(run.resolvedSpec, now.resolvedSpec);
    const QString id = qtext(run.summary.id);
    if (changes.isEmpty()) {
        return tr("spec hash differs from %1's, though no key does: another version made it")
            .arg(id);
    }
    QString list = changes.mid(0, kMostKeys).join(QStringLiteral(", "));
    if (changes.size() > kMostKeys) {
        list += tr(" and %1 more").arg(changes.size() - kMostKeys);
    }
    return changes.size() == 1
               ? tr("differs from %1 in 1 key: %2").arg(id, list)
               : tr("differs from %1 in %2 keys: %3").arg(id).arg(changes.size()).arg(list);
}

QString filesText(std::int64_t files, std::int64_t rows) {
    return tr("%1 rows in %2")
        .arg(countText(static_cast<double>(rows)),
             files == 1 ? tr("1 file") : tr("%1 files").arg(countText(static_cast<double>(files))));
}

// Returns the differences that a repeat cannot avoid or cannot detect.
QString reservations(const values::RunDetail& run) {
    const Json spec = parseJson(run.resolvedSpec, "resolved spec").value_or(Json::object());
    QStringList sentences;
    QStringList gone;
    for (const auto& [key, value] : jsonMember(spec, "tags").items()) {
        if (!run.summary.tags.contains(key)) {
            gone.append(qtext(key));
        }
    }
    if (!gone.isEmpty()) {
        sentences.append(tr("the spec's tag %1, which was taken off %2, is set again")
                             .arg(gone.join(QStringLiteral(", ")), qtext(run.summary.id)));
    }
    if (!jsonMember(spec, "command").empty()) {
        sentences.append(tr("its script is not part of the hash"));
    }
    return sentences.isEmpty() ? QString() : QStringLiteral("; ") + sentences.join("; ");
}

bool isAlike(values::SubmitRequest a, values::SubmitRequest b) {
    for (values::SubmitRequest* request : {&a, &b}) {
        request->variations.clear();
        request->withoutBase = false;
    }
    return a == b;
}

}  // namespace

values::CheckRequest RunRepeat::question() const {
    values::CheckRequest check;
    check.spec = {request.specText, request.fileName, request.baseDir, request.sets};
    check.variations = request.variations;
    check.withoutBase = request.withoutBase;
    return check;
}

values::SubmitRequest repeatRequest(const values::RunDetail& run) {
    values::SubmitRequest request;
    request.specText = run.specText;
    request.fileName = run.specFileName;
    request.baseDir = baseDirOf(run).toStdString();
    request.sets = run.sets;
    request.project = run.summary.project;
    request.tags = run.summary.tags;
    request.place = run.script.place;
    if (!run.summary.variation.empty()) {
        request.variations = {run.summary.variation};
        request.withoutBase = true;
    }
    return request;
}

std::vector<RunRepeat> repeatsOf(const std::vector<RunPtr>& runs) {
    std::vector<RunRepeat> repeats;
    for (const RunPtr& run : runs) {
        const values::SubmitRequest request = repeatRequest(*run);
        const auto fits = [&](const RunRepeat& other) {
            return other.runs.front()->summary.group == run->summary.group &&
                   !run->summary.group.empty() && isAlike(other.request, request) &&
                   std::ranges::none_of(other.runs, [&](const RunPtr& one) {
                       return one->summary.variation == run->summary.variation;
                   });
        };
        const auto known = std::ranges::find_if(repeats, fits);
        if (known == repeats.end()) {
            repeats.push_back({{run}, request});
            continue;
        }
        values::SubmitRequest& whole = known->request;
        known->runs.push_back(run);
        whole.withoutBase = whole.withoutBase && request.withoutBase;
        whole.variations.insert(whole.variations.end(), request.variations.begin(),
                                request.variations.end());
    }
    return repeats;
}

RepeatVerdict verdictOn(const values::RunDetail& run, const Result<values::CheckReply>& reply) {
    const auto broken = [](const std::string& why) {
        return RepeatVerdict{RepeatVerdict::Kind::kBroken,
                             tr("cannot be launched: %1").arg(qtext(why))};
    };
    if (!reply.ok()) {
        return broken(std::string(messageOf(reply.status())));
    }
    if (!reply->errors.empty()) {
        return broken(reply->errors.front().message);
    }
    const auto now = std::ranges::find_if(reply->runs, [&](const values::CheckedRun& one) {
        return one.variation == run.summary.variation;
    });
    return now == reply->runs.end() ? broken("the daemon says nothing about it")
                                    : verdictOn(run, *now);
}

RepeatVerdict verdictOn(const values::RunDetail& run, const values::CheckedRun& now) {
    using Kind = RepeatVerdict::Kind;
    const values::RunSummary& then = run.summary;
    if (now.specHash != then.specHash) {
        return {Kind::kDiffers, differenceOfSpecs(run, now) + reservations(run)};
    }
    const QString equal = tr("spec hash equal (%1)").arg(shortHash(then.specHash));
    if (now.planHash != then.planHash) {
        const QString before = filesText(run.planFiles, run.planRows);
        const QString after = filesText(now.files, now.rows);
        return {
            Kind::kDiffers,
            equal +
                (before == after
                     ? tr(", but the data files were written again since %1").arg(qtext(then.id))
                     : tr(", but the data files have changed since %1: %2 now, then %3")
                           .arg(qtext(then.id), after, before)) +
                reservations(run)};
    }
    return {Kind::kEqual, equal + tr(": repeats %1").arg(qtext(then.id)) + reservations(run)};
}

}  // namespace millrace::gui
