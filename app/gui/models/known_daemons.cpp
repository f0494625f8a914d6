#include "app/gui/models/known_daemons.h"

#include <QFileInfo>
#include <algorithm>

#include "app/gui/models/run_text.h"
#include "backend/filesystem/paths.h"

namespace millrace::gui {
namespace {

constexpr const char* kListKey = "daemons/list";
constexpr const char* kCurrentKey = "daemons/current";

}  // namespace

KnownDaemons::KnownDaemons(const std::string& own, QObject* parent) : QObject(parent) {
    const Result<Address> address = Address::parse(own);
    if (address.ok()) {
        KnownDaemon first;
        first.address = address->text();
        first.isOwn = true;
        daemons_.push_back(std::move(first));
        current_ = daemons_.front().address;
    }
}

const KnownDaemon* KnownDaemons::find(const std::string& address) const {
    const auto at =
        std::ranges::find_if(daemons_, [&](const KnownDaemon& d) { return d.address == address; });
    return at == daemons_.end() ? nullptr : &*at;
}

KnownDaemon* KnownDaemons::findMine(const std::string& address) {
    return const_cast<KnownDaemon*>(find(address));
}

void KnownDaemons::setHosts(std::vector<session::NamedHost> named,
                            std::vector<std::string> aliases) {
    named_ = std::move(named);
    aliases_ = std::move(aliases);
    giveNames();
    Q_EMIT changed();
    Q_EMIT hostsChanged();
}

void KnownDaemons::giveNames() {
    for (KnownDaemon& daemon : daemons_) {
        const auto at = std::ranges::find_if(
            named_, [&](const session::NamedHost& host) { return host.address == daemon.address; });
        daemon.name = at == named_.end() ? "" : at->name;
    }
}

QStringList KnownDaemons::suggestions() const {
    QStringList all;
    for (const session::NamedHost& host : named_) {
        all.append(QString::fromStdString(host.name));
    }
    for (const std::string& alias : aliases_) {
        all.append(QStringLiteral("ssh://") + QString::fromStdString(alias));
    }
    return all;
}

Result<std::string> KnownDaemons::check(const QString& text) const {
    QString word = text.trimmed();
    if (word.isEmpty()) {
        return invalidArgument(
            "write where the daemon listens: ssh://host, unix:/path/millraced.sock, or host:7443");
    }
    if (word.startsWith(QLatin1String("~/"))) {
        word = QString::fromLocal8Bit(qgetenv("HOME")) + word.mid(1);
    }
    // In this order: a name that the user gave, an alias of ~/.ssh/config, an address. An alias is
    // a bare word, which Address::parse() would not take for a host over ssh.
    const std::string name = word.toStdString();
    for (const session::NamedHost& host : named_) {
        if (host.name == name) {
            return host.address;
        }
    }
    const bool isAlias = std::ranges::find(aliases_, name) != aliases_.end();
    ASSIGN_OR_RETURN(const Address address, Address::parse(isAlias ? "ssh://" + name : name));
    return address.text();
}

Result<std::string> KnownDaemons::add(const QString& text) {
    ASSIGN_OR_RETURN(const std::string address, check(text));
    if (find(address) != nullptr) {
        return alreadyExists(address, " is in the bar already");
    }
    KnownDaemon daemon;
    daemon.address = address;
    daemons_.push_back(std::move(daemon));
    giveNames();
    Q_EMIT changed();
    return address;
}

void KnownDaemons::remove(const std::string& address) {
    const KnownDaemon* daemon = find(address);
    if (daemon == nullptr || daemon->isOwn) {
        return;
    }
    const auto place = daemon - daemons_.data();
    daemons_.erase(daemons_.begin() + place);
    const bool wasCurrent = current_ == address;
    if (wasCurrent) {
        current_ = daemons_.empty()
                       ? std::string()
                       : daemons_[static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, place - 1))]
                             .address;
    }
    Q_EMIT changed();
    if (wasCurrent) {
        Q_EMIT currentChanged();
    }
}

void KnownDaemons::setCurrent(const std::string& address) {
    if (address == current_ || find(address) == nullptr) {
        return;
    }
    current_ = address;
    Q_EMIT changed();
    Q_EMIT currentChanged();
}

void KnownDaemons::setLink(const std::string& address, const session::Link& link,
                           const std::string& version) {
    KnownDaemon* daemon = findMine(address);
    if (daemon == nullptr) {
        return;
    }
    daemon->isProbed = true;
    daemon->link = link;
    // A lost link brings no version: the last known one stays.
    if (!version.empty()) {
        daemon->version = version;
    }
    Q_EMIT changed();
}

void KnownDaemons::heard(const std::string& address, std::int64_t nowMs) {
    if (KnownDaemon* daemon = findMine(address)) {
        // No signal: live data arrives many times a second, and the bar reads the age when it
        // paints.
        daemon->heardMs = nowMs;
    }
}

void KnownDaemons::save(QSettings& settings) const {
    QStringList others;
    for (const KnownDaemon& daemon : daemons_) {
        if (!daemon.isOwn) {
            others.append(QString::fromStdString(daemon.address));
        }
    }
    settings.setValue(kListKey, others);
    settings.setValue(kCurrentKey, QString::fromStdString(current_));
}

void KnownDaemons::restore(QSettings& settings) {
    for (const QString& text : settings.value(kListKey).toStringList()) {
        // A user may have edited the file: unreadable and duplicate entries are skipped.
        add(text).status().IgnoreError();
    }
    setCurrent(settings.value(kCurrentKey).toString().toStdString());
}

namespace {

constexpr QLatin1String kSsh("ssh://");

}  // namespace

QString shortName(const KnownDaemon& daemon) {
    if (daemon.isOwn && daemon.address.rfind("unix:", 0) == 0) {
        return QObject::tr("this machine");
    }
    if (!daemon.name.empty()) {
        return QString::fromStdString(daemon.name);
    }
    const QString address = QString::fromStdString(daemon.address);
    if (address.startsWith(kSsh)) {
        return address.mid(kSsh.size());
    }
    if (address.startsWith(QLatin1String("unix:"))) {
        return QFileInfo(address.mid(5)).fileName();
    }
    return address;
}

QString stateWord(const KnownDaemon& daemon) {
    if (!daemon.isProbed) {
        return QObject::tr("not asked yet");
    }
    switch (daemon.link.state) {
        case session::LinkState::kConnecting:
            return QStringLiteral("connecting");
        case session::LinkState::kConnected:
            return QStringLiteral("connected");
        case session::LinkState::kReconnecting:
            return QStringLiteral("reconnecting");
        case session::LinkState::kRefused:
            return QStringLiteral("refused");
    }
    return {};
}

QString staleText(const KnownDaemon& daemon, std::int64_t nowMs) {
    if (!daemon.heardMs.has_value()) {
        return {};
    }
    const std::int64_t silence = nowMs - *daemon.heardMs;
    // Figures of a daemon that is known to be away are old at once, but a quick reconnection should
    // not flash a warning.
    const bool isLost = daemon.isProbed && daemon.link.state != session::LinkState::kConnected;
    if (silence < (isLost ? 1000 : kStaleAfterMs)) {
        return {};
    }
    const std::int64_t seconds = silence / 1000;
    if (seconds < 100) {
        return QObject::tr("stale %1 s").arg(seconds);
    }
    return seconds < 6000 ? QObject::tr("stale %1 min").arg(seconds / 60)
                          : QObject::tr("stale %1 h").arg(seconds / 3600);
}

QString problemSentence(const KnownDaemon& daemon) {
    if (!daemon.isProbed || daemon.link.state == session::LinkState::kConnected) {
        return {};
    }
    if (daemon.link.sentence.empty()) {
        return {};
    }
    QString text = capital(qtext(daemon.link.sentence));
    if (!text.endsWith(QLatin1Char('.'))) {
        text += QLatin1Char('.');
    }
    if (daemon.link.state == session::LinkState::kReconnecting) {
        text += QObject::tr(" Trying again by itself.");
    }
    return text;
}

QString helpfulCommand(const KnownDaemon& daemon) {
    const bool isAway =
        daemon.isProbed && (daemon.link.state == session::LinkState::kReconnecting ||
                            daemon.link.state == session::LinkState::kConnecting);
    const bool isSsh = daemon.address.rfind("ssh://", 0) == 0;
    const bool isSocket = daemon.address.rfind("unix:", 0) == 0;
    if (!isAway || daemon.link.sentence.empty() || (!isSocket && !isSsh)) {
        return {};
    }
    // Over ssh, `up` helps only if the host was reached.
    // These are words of app/ssh/remote_look.cpp: a link has no code for its cause.
    const bool isReached = daemon.link.sentence.find("no daemon answers") != std::string::npos;
    if (isSsh && !isReached) {
        return QStringLiteral("millrace host test %1").arg(QString::fromStdString(daemon.address));
    }
    const bool isInstalled = daemon.link.sentence.find("--install") == std::string::npos;
    return daemon.isOwn ? QStringLiteral("millrace up")
                        : QStringLiteral("millrace up %1--host %2")
                              .arg(isInstalled ? QString() : QStringLiteral("--install "),
                                   QString::fromStdString(daemon.address));
}

}  // namespace millrace::gui
