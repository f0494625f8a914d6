#pragma once
// The daemons that the connection bar shows: where they are, how each of them is.
//
// The user's own socket stands first and stays; others are added and removed. Plain values with a
// signal; it asks nobody (the bridge and the probe tell it). Threads: the GUI thread. Failure: an
// address that cannot be read, or is already there, is refused with a sentence.
#include <QObject>
#include <QSettings>
#include <QString>
#include <QStringList>
#include <optional>
#include <string>
#include <vector>

#include "app/session/host_book.h"
#include "app/session/link.h"
#include "backend/core/status.h"

namespace millrace::gui {

struct KnownDaemon {
    std::string address;    ///< as Address::text() writes it
    std::string name;       ///< of a host that the user has named, "" without
    bool isOwn = false;     ///< the user's own socket: cannot be removed
    bool isProbed = false;  ///< something is known of it
    session::Link link;
    std::string version;                  ///< of the daemon, "" not known
    std::optional<std::int64_t> heardMs;  ///< when live data came last; empty: never
};

/// How long without any live data until a daemon's figures are called stale.
inline constexpr std::int64_t kStaleAfterMs = 4000;

class KnownDaemons final : public QObject {
    Q_OBJECT

 public:
    /// `own`: "unix:PATH" or "HOST:PORT"; where it cannot be read, there is no first one.
    explicit KnownDaemons(const std::string& own, QObject* parent = nullptr);

    const std::vector<KnownDaemon>& all() const { return daemons_; }
    const KnownDaemon* find(const std::string& address) const;
    const std::string& current() const { return current_; }
    const KnownDaemon* currentDaemon() const { return find(current_); }

    /// What names stand for, and the aliases of ~/.ssh/config, which are offered.
    void setHosts(std::vector<session::NamedHost> named, std::vector<std::string> aliases);
    /// What may be typed for a new one, the named hosts first.
    QStringList suggestions() const;
    /// The address as it is written everywhere, or why it cannot be one. A named host's name and an
    /// alias stand for theirs.
    Result<std::string> check(const QString& text) const;
    /// Adds it (without going there); returns it as written.
    Result<std::string> add(const QString& text);
    /// Where to go when the current one was removed: the one before it. Own ones stay.
    void remove(const std::string& address);
    void setCurrent(const std::string& address);

    void setLink(const std::string& address, const session::Link& link,
                 const std::string& version = {});
    void heard(const std::string& address, std::int64_t nowMs);

    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 Q_SIGNALS:
    void changed();
    void currentChanged();
    void hostsChanged();  ///< other suggestions

 private:
    KnownDaemon* findMine(const std::string& address);
    void giveNames();
    std::vector<session::NamedHost> named_;
    std::vector<std::string> aliases_;
    std::vector<KnownDaemon> daemons_;
    std::string current_;
};

/// "this machine" for the own socket, a host's name, user and host over ssh, the file's name for
/// other sockets, HOST:PORT else.
QString shortName(const KnownDaemon& daemon);
/// "connected", "connecting", "reconnecting", "refused", "not asked yet".
QString stateWord(const KnownDaemon& daemon);
/// "stale 12 s" when live data stopped coming; "" else.
QString staleText(const KnownDaemon& daemon, std::int64_t nowMs);
/// What is wrong and what to do; "" while all is well or nothing was tried yet.
QString problemSentence(const KnownDaemon& daemon);
/// A command that would help, "millrace up"; "" where there is none.
QString helpfulCommand(const KnownDaemon& daemon);

}  // namespace millrace::gui
