#pragma once
// DaemonProbe: checks for the connection bar whether the known daemons answer, by one handshake
// each every few seconds.
//
// Independent of the bridge's own connection. Threads: the GUI thread for every function and
// signal; inside, one thread for all daemons. A daemon that does not answer is probed less and less
// often, down to once a minute. Failure: a state with a sentence.
#include <QObject>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/client/daemon_client.h"

namespace millrace::gui {

struct ProbeState {
    enum class Answer {
        kNone,  ///< not probed yet
        kReachable,
        kUnreachable,
        kRefused,  ///< a newer protocol, or not allowed
    };
    Answer answer = Answer::kNone;
    std::string version;       ///< the daemon's, if it is reachable
    std::string sentence;      ///< why not, otherwise
    std::int64_t sinceMs = 0;  ///< when this answer was first given, UTC ms
    bool operator==(const ProbeState&) const = default;
};

class DaemonProbe final : public QObject {
    Q_OBJECT

 public:
    using MakeClient =
        std::function<std::unique_ptr<client::DaemonClient>(const std::string& address)>;
    static constexpr int kIntervalMs = 5'000, kLongestMs = 60'000;

    explicit DaemonProbe(MakeClient makeClient, QObject* parent = nullptr);
    ~DaemonProbe() override;

    /// Sets the daemons to probe from now on; new ones are probed at once.
    void setAddresses(const std::vector<std::string>& addresses);
    /// Probes all of them now: the window was shown, or the list was opened.
    void askNow();
    ProbeState state(const std::string& address) const;

 Q_SIGNALS:
    void changed(const QString& address);

 private:
    class Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::gui
