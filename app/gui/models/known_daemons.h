#pragma once
// KnownDaemons: the daemons in the connection bar, with address and state.
//
// The user's own socket is first and cannot be removed; others are added and removed. Plain values
// with a signal; it makes no requests (the bridge and the probe update it). Threads: the GUI
// thread. Failure: an address that is invalid or already there is refused with a sentence.
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
    std::string name;       ///< of a host that the user has named, else ""
    bool isOwn = false;     ///< the user's own socket: cannot be removed
    bool isProbed = false;  ///< its state is known
    session::Link link;
    std::string version;                  ///< of the daemon, "" unknown
    std::optional<std::int64_t> heardMs;  ///< when the last live data came; empty: never
};

/// Time without live data after which a daemon's figures are marked stale.
inline constexpr std::int64_t kStaleAfterMs = 4000;

class KnownDaemons final : public QObject {
    Q_OBJECT

 public:
    /// `own`: "unix:PATH" or "HOST:PORT"; if invalid, the own daemon is missing.
    explicit KnownDaemons(const std::string& own, QObject* parent = nullptr);

    const std::vector<KnownDaemon>& all() const { return daemons_; }
    const KnownDaemon* find(const std::string& address) const;
    const std::string& current() const { return current_; }
    const KnownDaemon* currentDaemon() const { return find(current_); }

    /// Sets the named hosts, and the aliases of ~/.ssh/config that are offered.
    void setHosts(std::vector<session::NamedHost> named, std::vector<std::string> aliases);
    /// Suggestions for a new address, the named hosts first.
    QStringList suggestions() const;
    /// The canonical form of the address, or why it is invalid. A named host's name and an alias
    /// are replaced by their addresses.
    Result<std::string> check(const QString& text) const;
    /// Adds it without connecting; returns its canonical form.
    Result<std::string> add(const QString& text);
    /// If the current one is removed, the one before it becomes current. The own one stays.
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
    void hostsChanged();  ///< the suggestions changed

 private:
    KnownDaemon* findMine(const std::string& address);
    void giveNames();
    std::vector<session::NamedHost> named_;
    std::vector<std::string> aliases_;
    std::vector<KnownDaemon> daemons_;
    std::string current_;
};

/// "this machine" for the own socket, a host's name, user and host over ssh, the file's name for
/// other sockets, otherwise HOST:PORT.
QString shortName(const KnownDaemon& daemon);
/// "connected", "connecting", "reconnecting", "refused", "not asked yet".
QString stateWord(const KnownDaemon& daemon);
/// "stale 12 s" if live data stopped arriving; otherwise "".
QString staleText(const KnownDaemon& daemon, std::int64_t nowMs);
/// The problem and its remedy; "" while all is well or nothing was tried yet.
QString problemSentence(const KnownDaemon& daemon);
/// A command that would help, "millrace up"; "" if there is none.
QString helpfulCommand(const KnownDaemon& daemon);

}  // namespace millrace::gui
