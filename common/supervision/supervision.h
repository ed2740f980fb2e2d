#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Messages between weirrun, the supervisor of each rank, and the engine inside the rank:
///
///     engine  <- Unix socket ->  supervisor  <- TCP ->  weirrun
///
/// One fixed layout for every message, little-endian:
///
///     u32 body length | u8 type | i32 rank | i32 code | u8 host length | host | text
///
/// The text is what remains of the body. The Unix socket keeps message boundaries and carries
/// exactly one frame in each packet; over TCP frames follow each other (`Decoder`).
namespace weir::supervision {

inline constexpr int kVersion = 10;
inline constexpr std::size_t kMaxText = std::size_t{64} << 10;
inline constexpr std::size_t kMaxHost = 255;
inline constexpr std::size_t kBodyHeader = 1 + 4 + 4 + 1;
inline constexpr std::size_t kMaxFrame = 4 + kBodyHeader + kMaxHost + kMaxText;

/// The environment variables that connect the three.
inline constexpr char kEngineFdVariable[] = "WEIR_SUPERVISOR_FD";
inline constexpr char kProtocolVariable[] = "WEIR_SUPERVISOR_PROTOCOL";  ///< kVersion of weirrun.
inline constexpr char kAddressesVariable[] = "WEIR_LAUNCHER_ADDRESSES";  ///< "ip:port,ip:port"
inline constexpr char kTokenVariable[] = "WEIR_LAUNCHER_TOKEN";
inline constexpr char kGraceVariable[] = "WEIR_LAUNCHER_GRACE_SECONDS";
/// The process whose end ends the job: that of weir.run. Only weir.run can tell it.
inline constexpr char kParentVariable[] = "WEIR_LAUNCHER_PARENT";
/// The rank's place, as its supervisor tells it, summation servers among the numbers.
inline constexpr char kRankVariable[] = "WEIR_LAUNCHER_RANK";
inline constexpr char kSizeVariable[] = "WEIR_LAUNCHER_SIZE";
inline constexpr char kLocalRankVariable[] = "WEIR_LAUNCHER_LOCAL_RANK";
inline constexpr char kLocalSizeVariable[] = "WEIR_LAUNCHER_LOCAL_SIZE";
/// Set in an elastic job, where a rank is told its place (MessageType::kPlace).
inline constexpr char kElasticVariable[] = "WEIR_LAUNCHER_ELASTIC";
/// The job's hosts and the number of ranks on each, for people: "a:2,b:1".
inline constexpr char kHostsVariable[] = "WEIR_LAUNCHER_HOSTS";
/// Sources of the settings that weirrun gave, for people: lines "WEIR_CYCLE_TIME=--cycle-time-ms".
inline constexpr char kOriginsVariable[] = "WEIR_LAUNCHER_ORIGINS";

/// A message of the protocol. Brackets list the fields it uses; `rank` is the rank it is about.
enum class MessageType : std::uint8_t {
  // Supervisor to weirrun.
  kHello = 1,    ///< First message [rank, code = kVersion, host, text = nonce]: proof.h.
  kOutputHello,  ///< First message of the second connection, which carries output [as kHello].
  kOutput,       ///< Output of the program [code = 1 stdout, 2 stderr; text = any bytes].
  kExited,       ///< The program ended by itself [code = wait status; text = why it did not start].
  kStopped,      ///< The program ended because its supervisor ended it [code = wait status].
  // weirrun to supervisor.
  kWelcome,    ///< Start the program.
  kTerminate,  ///< SIGTERM to the program's process group.
  kKill,       ///< SIGKILL to it.
  kFinish,     ///< All ranks have ended: clean up and go.
  /// Both ways, once a second. To weirrun [code = heartbeats that the engine has missed; text = the
  /// state of its process, where it is known].
  kHeartbeat,
  kPulse,  ///< From an engine to its supervisor, as often [code = 1; 0: the last one].
  // From an engine, through its supervisor, to weirrun, which fills in the rank.
  kAttach,         ///< An engine is being made and waits for the others.
  kAddress,        ///< Its network's address [text: at most kMaxAddress bytes].
  kReady,          ///< In an elastic job: the rank has what others would need from it.
  kJoined,         ///< The engine has met all others and listens.
  kLeave,          ///< The rank leaves in good order.
  kFinalizing,     ///< The rank would finalise MPI, and waits for kFinalize.
  kAbort = 18,     ///< The rank ends the job [text = reason]; then to all other engines.
  kStatusRequest,  ///< From an engine; then to all engines.
  kStatus,         ///< Current work of the rank [text]; then to the engine of rank 0.
  kTotals,         ///< Totals of its steps so far [text]: common/supervision/rank_totals.h.
  /// It stands still [code = 1, text = the ranks that it does not hear: "1,2"], moves again [0], or
  /// its network has lost ranks [2, text = these].
  kUnheard,
  // To engines.
  kPlace,      ///< In an elastic job, after kAttach [rank, code = epoch, host, text: place.h].
  kAddresses,  ///< Of all ranks [rank = the receiver, code = number of ranks, text: addresses.h].
  kFinalize,   ///< All ranks would [code = 1], or not [code = 0, rank = who never will or -1].
  kPeerLost,   ///< A rank died [rank, host, text = how].
  kHostsUpdated,  ///< Ranks wait to come in, or should go, once the program can be interrupted.
  kRecordFlight,  ///< Write a flight recording [code = 1, 2, ...: its number].
  kLauncherLost,  ///< From the supervisor itself.
  kLast = kLauncherLost,
  // Between a hello and the first other message, with numbers that stay (proof.h).
  kChallenge = 254,  ///< From who listens [code = kVersion, text = nonce].
  kProof = 255,      ///< Both ways [text = proof].
};

struct Message {
  MessageType type = MessageType::kHeartbeat;
  int rank = -1;
  int code = 0;
  std::string host{};
  std::string text{};
};

/// Returns the frame of a message. A host or text beyond its limit is cut.
std::string Encode(const Message& message);

/// Reads the message of exactly one whole frame. Throws Corrupt for anything else.
Message Decode(std::string_view frame);

/// Takes a byte stream apart into messages. Holds at most one frame and the bytes
/// of one Append. Not thread-safe.
class Decoder {
 public:
  void Append(std::string_view bytes) { buffer_.append(bytes); }
  /// Returns the next whole message, if there is one. Throws Corrupt when the bytes are not a
  /// message; the stream is useless after that.
  std::optional<Message> Next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;  // Begin of the bytes that Next has not yet returned.
};

}  // namespace weir::supervision
