#include "app/gui/bridge/ssh_questions.h"

#include <algorithm>
#include <deque>

#include "backend/core/mutex.h"
#include "backend/filesystem/paths.h"

namespace millrace::gui {
namespace {

constexpr std::chrono::milliseconds kLook{100};

SshQuestion::Kind kindOf(ssh::QuestionKind kind) {
    switch (kind) {
        case ssh::QuestionKind::kHostKey:
            return SshQuestion::Kind::kHostKey;
        case ssh::QuestionKind::kSecret:
            return SshQuestion::Kind::kSecret;
        case ssh::QuestionKind::kCode:
            return SshQuestion::Kind::kCode;
        case ssh::QuestionKind::kConfirm:
            return SshQuestion::Kind::kConfirm;
        case ssh::QuestionKind::kNotice:
            break;
    }
    return SshQuestion::Kind::kNotice;
}

// The host's address without the socket there.
std::string hostOf(const std::string& address) {
    Result<Address> parsed = Address::parse(address);
    if (!parsed.ok() || !parsed->isSsh) {
        return "";
    }
    parsed->unixPath.clear();
    return parsed->text();
}

}  // namespace

class SshQuestions::State {
 public:
    explicit State(SshQuestions* owner) : owner_(owner) {}

    std::optional<Secret> ask(const ssh::Question& question, const std::stop_token& stop)
        MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        if (owner_ == nullptr || question.host != asked_) {
            return std::nullopt;
        }
        const std::uint64_t id = ++lastId_;
        waiting_.push_back({{id, kindOf(question.kind), QString::fromStdString(question.host),
                             QString::fromStdString(question.text)},
                            false,
                            std::nullopt});
        tell();
        while (owner_ != nullptr && !stop.stop_requested() && asked_ == question.host &&
               !find(id)->isAnswered) {
            changed_.waitFor(mutex_, kLook);
        }
        const auto at = find(id);
        std::optional<Secret> answer = std::move(at->answer);
        waiting_.erase(at);
        tell();
        return answer;
    }

    void answer(std::uint64_t id, std::optional<Secret> secret) MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        const auto at = find(id);
        if (at != waiting_.end()) {
            at->answer = std::move(secret);
            at->isAnswered = true;
            changed_.notifyAll();
        }
    }

    std::optional<SshQuestion> first() MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        const auto at =
            std::ranges::find_if(waiting_, [](const Waiting& one) { return !one.isAnswered; });
        return at == waiting_.end() ? std::nullopt : std::optional(at->question);
    }

    void setAsked(std::string host) MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        asked_ = std::move(host);
        changed_.notifyAll();
    }

    void close() MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        owner_ = nullptr;
        changed_.notifyAll();
    }

 private:
    struct Waiting {
        SshQuestion question;
        bool isAnswered = false;
        std::optional<Secret> answer;
    };

    std::deque<Waiting>::iterator find(std::uint64_t id) MR_REQUIRES(mutex_) {
        return std::ranges::find_if(waiting_,
                                    [id](const Waiting& one) { return one.question.id == id; });
    }
    void tell() MR_REQUIRES(mutex_) {
        if (owner_ != nullptr) {
            QMetaObject::invokeMethod(owner_, &SshQuestions::changed, Qt::QueuedConnection);
        }
    }

    Mutex mutex_;
    CondVar changed_;
    SshQuestions* owner_ MR_GUARDED_BY(mutex_);
    std::string asked_ MR_GUARDED_BY(mutex_);
    std::uint64_t lastId_ MR_GUARDED_BY(mutex_) = 0;
    std::deque<Waiting> waiting_ MR_GUARDED_BY(mutex_);
};

SshQuestions::SshQuestions() : state_(std::make_shared<State>(this)) {}

SshQuestions::~SshQuestions() {
    state_->close();
}

ssh::Ask SshQuestions::ask() const {
    return [state = state_](const ssh::Question& question, const std::stop_token& stop) {
        return state->ask(question, stop);
    };
}

void SshQuestions::setAsked(const std::string& address) {
    state_->setAsked(hostOf(address));
}

std::optional<SshQuestion> SshQuestions::first() const {
    return state_->first();
}

// The typed answer has been in a field's memory: from now on this process must not be dumped.
void SshQuestions::answer(std::uint64_t id, const QString& text) {
    keepOutOfDumps().IgnoreError();  // if refused, the answer at least has a page of its own
    QByteArray bytes = text.toUtf8();
    state_->answer(id, Secret({bytes.constData(), static_cast<std::size_t>(bytes.size())}));
    bytes.fill('\0');
    Q_EMIT changed();
}

void SshQuestions::giveUp(std::uint64_t id) {
    state_->answer(id, std::nullopt);
    Q_EMIT changed();
}

}  // namespace millrace::gui
