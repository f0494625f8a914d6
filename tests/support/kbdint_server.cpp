// A small SSH server that asks: keyboard-interactive with a password (hidden) and a code (echoed),
// as a host with one-time codes does. An sshd without PAM announces the method and asks nothing.
//
//   kbdint_server HOST_KEY_FILE PASSWORD CODE [STREAMLOCAL_SOCKET [code|password|both]]
//
// Says "port N" on stdout, listens on loopback, serves each connection in a process of its own and
// ends with its stdin. It runs commands (exec), and connects each direct-streamlocal channel to
// STREAMLOCAL_SOCKET ("": refused), whatever path was asked for: libssh's server side does not tell
// the path. `password` wants the plain method instead, `both` first that and then the questions.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Account {
    std::string password, code, socket, methods;
};

// A channel and its other end: a child's three pipes, or one socket.
struct Line {
    ssh_channel channel = nullptr;
    ssh_channel_callbacks_struct callbacks{};
    pid_t child = -1;
    int in = -1;                     // where the channel's bytes go
    std::array<int, 2> out{-1, -1};  // stdout, stderr
    std::string bytes;               // on their way to `in`
    bool isEof = false, isOver = false;
};

class Server {
 public:
    Server(ssh_session session, Account account)
        : session_(session), account_(std::move(account)) {}

    void serve() {
        wanted_ =
            account_.methods == "code" ? SSH_AUTH_METHOD_INTERACTIVE : SSH_AUTH_METHOD_PASSWORD;
        ssh_set_auth_methods(session_, wanted_);
        if (ssh_handle_key_exchange(session_) != SSH_OK || !letIn()) {
            return;
        }
        ssh_set_message_callback(
            session_,
            [](ssh_session, ssh_message message, void* self) {
                return static_cast<Server*>(self)->hear(message);
            },
            this);
        ssh_set_blocking(session_, 0);
        event_ = ssh_event_new();
        ssh_event_add_session(event_, session_);
        while (ssh_is_connected(session_) != 0) {
            round();
        }
    }

 private:
    bool letIn() {
        while (ssh_message message = ssh_message_get(session_)) {
            const bool isIn = judge(message);
            ssh_message_free(message);
            if (isIn) {
                return true;
            }
        }
        return false;
    }

    // Judges a proof of the user; returns whether no further proof is needed.
    bool judge(ssh_message message) {
        const bool isAuth = ssh_message_type(message) == SSH_REQUEST_AUTH;
        const int method = isAuth && ssh_message_subtype(message) == wanted_ ? wanted_ : 0;
        if (method == SSH_AUTH_METHOD_INTERACTIVE &&
            ssh_message_auth_kbdint_is_response(message) == 0) {
            std::array<const char*, 2> prompts = {"Password: ", "Code: "};
            std::array<char, 2> echo = {0, 1};
            ssh_message_auth_interactive_request(message, "Two questions", "Both are needed.", 2,
                                                 prompts.data(), echo.data());
            return false;
        }
        if (method == SSH_AUTH_METHOD_INTERACTIVE && isRight()) {
            return ssh_message_auth_reply_success(message, 0) == SSH_OK;
        }
        if (method == SSH_AUTH_METHOD_PASSWORD && account_.password == passwordOf(message)) {
            const bool isEnough = account_.methods == "password";
            wanted_ = isEnough ? wanted_ : SSH_AUTH_METHOD_INTERACTIVE;
            ssh_set_auth_methods(session_, wanted_);
            return ssh_message_auth_reply_success(message, isEnough ? 0 : 1) == SSH_OK && isEnough;
        }
        ssh_message_auth_set_methods(message, wanted_);
        ssh_message_reply_default(message);
        return false;
    }

    static std::string passwordOf(ssh_message message) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Wdeprecated-declarations"  // no other function gives the password in a loop over messages
        const char* password = ssh_message_auth_password(message);
#pragma GCC diagnostic pop
        return password == nullptr ? "" : password;
    }

    bool isRight() {
        return ssh_userauth_kbdint_getnanswers(session_) == 2 &&
               account_.password == ssh_userauth_kbdint_getanswer(session_, 0) &&
               account_.code == ssh_userauth_kbdint_getanswer(session_, 1);
    }

    // Returns 0 if it has answered the message.
    int hear(ssh_message message) {
        const int type = ssh_message_type(message), kind = ssh_message_subtype(message);
        if (type == SSH_REQUEST_CHANNEL_OPEN && kind == SSH_CHANNEL_SESSION) {
            begin(ssh_message_channel_request_open_reply_accept(message));
            return 0;
        }
        if (type == SSH_REQUEST_CHANNEL_OPEN && kind == SSH_CHANNEL_UNKNOWN) {
            const int socket = connectTo(account_.socket);
            if (socket < 0) {
                return 1;
            }
            Line& line = begin(ssh_message_channel_request_open_reply_accept(message));
            line.in = socket;
            line.out[0] = ::dup(socket);
            return 0;
        }
        if (type == SSH_REQUEST_CHANNEL && kind == SSH_CHANNEL_REQUEST_EXEC) {
            for (const auto& line : lines_) {
                if (line->channel == ssh_message_channel_request_channel(message)) {
                    run(*line, ssh_message_channel_request_command(message));
                    ssh_message_channel_request_reply_success(message);
                    return 0;
                }
            }
        }
        return 1;
    }

    Line& begin(ssh_channel channel) {
        lines_.push_back(std::make_unique<Line>());
        Line& line = *lines_.back();
        line.channel = channel;
        ssh_callbacks_init(&line.callbacks);
        line.callbacks.userdata = &line;
        line.callbacks.channel_data_function = [](ssh_session, ssh_channel, void* data,
                                                  uint32_t size, int, void* self) {
            static_cast<Line*>(self)->bytes.append(static_cast<const char*>(data), size);
            return static_cast<int>(size);
        };
        line.callbacks.channel_eof_function = [](ssh_session, ssh_channel, void* self) {
            static_cast<Line*>(self)->isEof = true;
        };
        line.callbacks.channel_close_function = [](ssh_session, ssh_channel, void* self) {
            static_cast<Line*>(self)->isEof = static_cast<Line*>(self)->isOver = true;
        };
        ssh_set_channel_callbacks(channel, &line.callbacks);
        return line;
    }

    static int connectTo(const std::string& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.empty() || path.size() >= sizeof address.sun_path) {
            return -1;
        }
        path.copy(address.sun_path, path.size());
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            ::close(fd);
            return -1;
        }
        return fd;
    }

    static void run(Line& line, const char* command) {
        int in[2], out[2], error[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 ||
            ::pipe2(error, O_CLOEXEC) != 0) {
            return;
        }
        line.child = ::fork();
        if (line.child == 0) {
            ::dup2(in[0], 0);
            ::dup2(out[1], 1);
            ::dup2(error[1], 2);
            ::execl("/bin/sh", "sh", "-c", command, nullptr);
            ::_exit(127);
        }
        ::close(in[0]);
        ::close(out[1]);
        ::close(error[1]);
        line.in = in[1];
        line.out = {out[0], error[0]};
    }

    void round() {
        const bool isBehind = (ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0;
        std::vector<pollfd> fds = {
            {ssh_get_fd(session_), static_cast<short>(POLLIN | (isBehind ? POLLOUT : 0)), 0}};
        for (const auto& line : lines_) {
            const bool reads = !isBehind && ssh_channel_window_size(line->channel) > 0;
            fds.push_back({line->bytes.empty() ? -1 : line->in, POLLOUT, 0});
            fds.push_back({reads ? line->out[0] : -1, POLLIN, 0});
            fds.push_back({reads ? line->out[1] : -1, POLLIN, 0});
        }
        const std::size_t numLines = lines_.size();
        ::poll(fds.data(), fds.size(), -1);
        ssh_event_dopoll(event_, 0);
        for (std::size_t i = 0; i < numLines; ++i) {
            move(*lines_[i], &fds[1 + i * 3]);
        }
        std::erase_if(lines_, [](const auto& line) { return line->isOver; });
    }

    void move(Line& line, const pollfd* ready) {
        if (ready[0].revents != 0) {
            const ssize_t n =
                ::write(line.in, line.bytes.data(), std::min<std::size_t>(line.bytes.size(), 4096));
            line.bytes.erase(0, n > 0 ? static_cast<std::size_t>(n) : line.bytes.size());
        }
        for (std::size_t i = 0; i < 2; ++i) {
            if (ready[1 + i].revents != 0) {
                send(line, i);
            }
        }
        if (line.isEof && line.bytes.empty() && line.in >= 0) {
            line.child < 0 ? ::shutdown(line.in, SHUT_WR) : ::close(line.in);
            line.in = line.child < 0 ? line.in : -1;
            line.isEof = false;
        }
        const bool isStarted = line.in >= 0 || line.child >= 0;
        if (isStarted && line.out[0] < 0 && line.out[1] < 0) {
            line.isOver = true;
        }
        if (line.isOver) {
            end(line);
        }
    }

    static void send(Line& line, std::size_t stream) {
        std::array<char, 16384> bytes;
        const std::size_t room =
            std::min<std::size_t>(bytes.size(), ssh_channel_window_size(line.channel));
        const ssize_t n = ::read(line.out[stream], bytes.data(), room);
        if (n > 0) {
            const auto size = static_cast<uint32_t>(n);
            stream == 0 ? ssh_channel_write(line.channel, bytes.data(), size)
                        : ssh_channel_write_stderr(line.channel, bytes.data(), size);
        } else if (room > 0) {
            ::close(line.out[stream]);
            line.out[stream] = -1;
        }
    }

    static void end(Line& line) {
        for (const int fd : {line.in, line.out[0], line.out[1]}) {
            if (fd >= 0) {
                ::close(fd);
            }
        }
        int status = 0;
        if (line.child > 0 && ::waitpid(line.child, &status, 0) == line.child &&
            WIFEXITED(status)) {
            ssh_channel_request_send_exit_status(line.channel, WEXITSTATUS(status));
        }
        ssh_remove_channel_callbacks(line.channel, &line.callbacks);
        ssh_channel_send_eof(line.channel);
        ssh_channel_close(line.channel);
        ssh_channel_free(line.channel);
    }

    ssh_session session_;
    Account account_;
    int wanted_ = 0;  // the method of the next proof
    ssh_event event_ = nullptr;
    std::vector<std::unique_ptr<Line>> lines_;
};

int listenOnLoopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd, 16) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        std::perror("kbdint_server");
        std::exit(1);
    }
    std::printf("port %d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    return fd;
}

void serveOne(int connection, const char* keyFile, Account account) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ssh_bind bind = ssh_bind_new();
    ssh_key key = nullptr;
    if (ssh_pki_import_privkey_file(keyFile, nullptr, nullptr, nullptr, &key) != SSH_OK) {
        std::fprintf(stderr, "kbdint_server: no key in %s\n", keyFile);
        return;
    }
    ssh_bind_options_set(bind, SSH_BIND_OPTIONS_IMPORT_KEY, key);
    // libssh forwards unix sockets only to servers with this name in their banner.
    ssh_bind_options_set(bind, SSH_BIND_OPTIONS_BANNER, "OpenSSH_9.2 kbdint_server");
    ssh_session session = ssh_new();
    if (ssh_bind_accept_fd(bind, session, connection) == SSH_OK) {
        Server(session, std::move(account)).serve();
    } else {
        std::fprintf(stderr, "kbdint_server: %s\n", ssh_get_error(bind));
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "kbdint_server HOST_KEY_FILE PASSWORD CODE [SOCKET [METHODS]]\n");
        return 2;
    }
    ssh_init();
    std::signal(SIGPIPE, SIG_IGN);
    const int door = listenOnLoopback();
    std::array<pollfd, 2> fds = {{{door, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
    while (::poll(fds.data(), fds.size(), -1) >= 0) {
        char byte = 0;
        if (fds[1].revents != 0 && ::read(STDIN_FILENO, &byte, 1) <= 0) {
            return 0;
        }
        const int connection = fds[0].revents != 0 ? ::accept(door, nullptr, nullptr) : -1;
        if (connection < 0) {
            continue;
        }
        if (::fork() == 0) {
            ::close(door);
            serveOne(connection, argv[1],
                     {argv[2], argv[3], argc > 4 ? argv[4] : "", argc > 5 ? argv[5] : "code"});
            ::_exit(0);
        }
        ::close(connection);
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
    }
    return 1;
}
