#include "app/gui/models/spec/spec_document.h"

#include <QFileInfo>
#include <utility>

namespace millrace::gui {

void SpecDocument::open(const QString& text, const QString& path, const QString& baseDir) {
    text_ = text;
    savedText_ = text;
    path_ = path;
    baseDir_ = baseDir;
    sets_.clear();
    origin_.reset();
    reply_ = {};
    checkedRevision_ = -1;
    ++revision_;
    Q_EMIT opened();
    Q_EMIT changed();
}

void SpecDocument::setOrigin(std::shared_ptr<const values::RunDetail> run) {
    origin_ = std::move(run);
    setSets(origin_->sets);
}

void SpecDocument::setSets(std::vector<std::string> sets) {
    if (sets == sets_) {
        return;
    }
    sets_ = std::move(sets);
    ++revision_;
    Q_EMIT changed();
}

void SpecDocument::setText(const QString& text) {
    if (text == text_) {
        return;
    }
    text_ = text;
    ++revision_;
    Q_EMIT changed();
}

void SpecDocument::setBaseDir(const QString& baseDir) {
    if (baseDir == baseDir_) {
        return;
    }
    baseDir_ = baseDir;
    ++revision_;
    Q_EMIT changed();
}

void SpecDocument::saved(const QString& path) {
    savedText_ = text_;
    path_ = path;
    baseDir_ = QFileInfo(path).absolutePath();
    ++revision_;
    Q_EMIT changed();
}

values::SpecSource SpecDocument::source() const {
    values::SpecSource source;
    source.text = text_.toStdString();
    source.fileName = !path_.isEmpty() ? QFileInfo(path_).fileName().toStdString()
                      : origin_ != nullptr && !origin_->specFileName.empty() ? origin_->specFileName
                                                                             : "spec.yaml";
    source.baseDir = baseDir_.toStdString();
    source.sets = sets_;
    return source;
}

void SpecDocument::setCheckReply(int revision, values::CheckReply reply) {
    if (revision < checkedRevision_) {
        return;
    }
    if (reply.columns.empty()) {
        reply.columns = std::move(reply_.columns);
        reply.derived = std::move(reply_.derived);
    }
    reply_ = std::move(reply);
    checkedRevision_ = revision;
    Q_EMIT checked();
}

}  // namespace millrace::gui
