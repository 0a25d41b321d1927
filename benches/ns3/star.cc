// The comparison load in ns-3: a star of one client and 20 servers, a root document, then 100 resources.
//
//   client ===== r, d ===== switch ----- 2r, d ----- server 0 .. 19        d = RTT/4
//
// Topology: thesis Figure 3.17 without the jitter. The bottleneck's queue is the device's own drop-tail queue,
// limited in packets that wait (the one in service is not counted); the traffic-control layer, which would
// put FqCoDel in front of it, is left out. Only the bottleneck drops.
//
// Load: the client asks server 0 for the root document; when its last byte has arrived, it asks for all
// resources at once, resource i from server i mod 20, one connection a server, each request one segment,
// pipelined or (--pipelined=0) each after the response before it. Servers answer in order without delay. The
// load ends when the last byte arrives.
//
// The first load counts packets and is not timed. The others run without any trace, so that ns-3 does nothing
// but simulate while the clock runs, and only Simulator::Run is timed: building nodes is not.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/ppp-header.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t kPort = 80;

struct Parameters
{
    uint64_t rateBps = 10'000'000;
    double rttMs = 40;
    uint32_t queuePackets = 10'000;
    uint32_t icwnd = 10;
    bool sack = false;
    uint32_t delackCount = 2;
    double delackMs = 40;
    uint32_t mss = 1448;
    uint32_t bufferBytes = 1 << 20;
    double minRtoMs = 200;
    double synTimeoutMs = 1000;
    uint32_t servers = 20;
    uint32_t resources = 100;
    uint32_t rootBytes = 50'680;
    uint32_t resourceBytes = 28'960;
    uint32_t requestBytes = 400;
    bool pipelined = true;
    uint32_t loads = 1;
};

struct Counters
{
    uint64_t dataPackets = 0;
    uint64_t dropsDown = 0;
    uint64_t dropsUp = 0;
    uint64_t retransmissions = 0;
    uint64_t timeouts = 0;
    uint64_t recoveries = 0;
};

// Counts what one endpoint sends again and how often its congestion state says why.
class SenderCounter
{
  public:
    explicit SenderCounter(Counters& counters)
        : m_counters(counters)
    {
    }

    void Attach(Ptr<Socket> socket)
    {
        socket->TraceConnectWithoutContext("Tx", MakeCallback(&SenderCounter::OnTx, this));
        socket->TraceConnectWithoutContext("CongState", MakeCallback(&SenderCounter::OnState, this));
    }

  private:
    void OnTx(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase> socket)
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        const SequenceNumber32 end = header.GetSequenceNumber() + packet->GetSize();
        auto [known, first] = m_highest.try_emplace(PeekPointer(socket), end);
        if (first)
        {
            return;
        }
        if (end <= known->second)
        {
            m_counters.retransmissions++;
        }
        known->second = std::max(known->second, end);
    }

    void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
    {
        m_counters.timeouts += now == TcpSocketState::CA_LOSS;
        m_counters.recoveries += now == TcpSocketState::CA_RECOVERY;
    }

    Counters& m_counters;
    std::map<const TcpSocketBase*, SequenceNumber32> m_highest;
};

// Answers the n-th request on its only connection with the n-th size it was given.
class Server
{
  public:
    Server(Ptr<Node> node, uint32_t requestBytes, std::vector<uint32_t> responses, SenderCounter* counter)
        : m_requestBytes(requestBytes),
          m_responses(std::move(responses)),
          m_counter(counter)
    {
        m_listener = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
        m_listener->Listen();
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeCallback(&Server::OnAccept, this));
    }

  private:
    // ns-3 acknowledges the first segment after a handshake at once, alone. Here the answer follows one
    // nanosecond later and can carry the ACK, as after every other request: one small packet less in a
    // queue that counts packets.
    void OnAccept(Ptr<Socket> socket, const Address&)
    {
        m_connection = socket;
        socket->GetAttribute("DelAckCount", m_delackCount);
        socket->SetAttribute("DelAckCount", UintegerValue(std::numeric_limits<uint16_t>::max()));
        socket->SetRecvCallback(MakeCallback(&Server::OnReadable, this));
        if (m_counter)
        {
            m_counter->Attach(socket);
        }
    }

    void OnReadable(Ptr<Socket> socket)
    {
        if (m_answered == 0)
        {
            Simulator::ScheduleNow(&Socket::SetAttribute, socket, "DelAckCount", m_delackCount);
        }
        while (Ptr<Packet> packet = socket->Recv())
        {
            m_received += packet->GetSize();
        }
        for (; m_received >= m_requestBytes; m_received -= m_requestBytes)
        {
            const uint32_t size = m_responses.at(m_answered++);
            NS_ABORT_MSG_IF(socket->Send(Create<Packet>(size)) < 0, "send buffer too small");
        }
    }

    const uint32_t m_requestBytes;
    const std::vector<uint32_t> m_responses;
    SenderCounter* m_counter;
    Ptr<Socket> m_listener;
    Ptr<Socket> m_connection;
    UintegerValue m_delackCount;
    uint32_t m_received = 0;
    size_t m_answered = 0;
};

class Client
{
  public:
    Client(Ptr<Node> node,
           const Parameters& parameters,
           std::vector<Ipv4Address> servers,
           SenderCounter* counter)
        : m_node(node),
          m_parameters(parameters),
          m_servers(std::move(servers)),
          m_connections(m_servers.size()),
          m_totalBytes(parameters.rootBytes + uint64_t{parameters.resources} * parameters.resourceBytes),
          m_counter(counter)
    {
    }

    void Start()
    {
        Request(0);
    }

    // When the last byte arrived; zero if it did not.
    Time Finished() const
    {
        return m_finished;
    }

  private:
    struct Connection
    {
        Ptr<Socket> socket;
        bool established = false;
        uint32_t waiting = 0;
        // Bytes of the responses to the requests on their way.
        uint32_t owed = 0;
    };

    void Request(uint32_t index)
    {
        Connection& connection = m_connections[index];
        connection.waiting++;
        if (connection.socket)
        {
            WriteNext(index);
            return;
        }
        connection.socket = Socket::CreateSocket(m_node, TcpSocketFactory::GetTypeId());
        connection.socket->SetConnectCallback(
            MakeCallback(&Client::OnConnected, this).Bind(index),
            MakeNullCallback<void, Ptr<Socket>>());
        connection.socket->SetRecvCallback(MakeCallback(&Client::OnReadable, this).Bind(index));
        if (m_counter)
        {
            m_counter->Attach(connection.socket);
        }
        connection.socket->Connect(InetSocketAddress(m_servers[index], kPort));
    }

    void OnConnected(uint32_t index, Ptr<Socket>)
    {
        m_connections[index].established = true;
        WriteNext(index);
    }

    // ns-3 transmits one nanosecond after a write, and merges what was written until then. Requests of one
    // connection are written two nanoseconds apart, so that each is a segment.
    void WriteNext(uint32_t index)
    {
        Connection& connection = m_connections[index];
        const bool turn = m_parameters.pipelined || connection.owed == 0;
        if (!connection.established || connection.waiting == 0 || !turn)
        {
            return;
        }
        connection.waiting--;
        connection.owed += m_haveRoot ? m_parameters.resourceBytes : m_parameters.rootBytes;
        connection.socket->Send(Create<Packet>(m_parameters.requestBytes));
        if (connection.waiting > 0 && m_parameters.pipelined)
        {
            Simulator::Schedule(NanoSeconds(2), &Client::WriteNext, this, index);
        }
    }

    void OnReadable(uint32_t index, Ptr<Socket> socket)
    {
        Connection& connection = m_connections[index];
        while (Ptr<Packet> packet = socket->Recv())
        {
            m_received += packet->GetSize();
            connection.owed -= packet->GetSize();
        }
        WriteNext(index);
        if (!m_haveRoot && m_received == m_parameters.rootBytes)
        {
            m_haveRoot = true;
            for (uint32_t i = 0; i < m_parameters.resources; i++)
            {
                Simulator::Schedule(NanoSeconds(2 * i), &Client::Request, this, i % m_parameters.servers);
            }
        }
        if (m_received == m_totalBytes)
        {
            m_finished = Simulator::Now();
            Simulator::Stop();
        }
    }

    Ptr<Node> m_node;
    const Parameters& m_parameters;
    const std::vector<Ipv4Address> m_servers;
    std::vector<Connection> m_connections;
    const uint64_t m_totalBytes;
    SenderCounter* m_counter;
    uint64_t m_received = 0;
    bool m_haveRoot = false;
    Time m_finished;
};

void
CountDrop(uint64_t* drops, Ptr<const Packet>)
{
    ++*drops;
}

// Looks at the wire, because a socket's Rx trace leaves out segments without new bytes.
void
CountData(uint64_t* dataPackets, Ptr<const Packet> frame)
{
    Ptr<Packet> packet = frame->Copy();
    PppHeader ppp;
    Ipv4Header ip;
    TcpHeader tcp;
    packet->RemoveHeader(ppp);
    packet->RemoveHeader(ip);
    packet->RemoveHeader(tcp);
    *dataPackets += packet->GetSize() > 0;
}

void
SetDefaults(const Parameters& p)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    // The default, proportional rate reduction, is not NewReno.
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(p.sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MicroSeconds(1000 * p.minRtoMs)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(MicroSeconds(1000 * p.synTimeoutMs)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(20));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(20));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(p.mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(p.icwnd));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(p.bufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(p.bufferBytes));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(p.delackCount));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MicroSeconds(1000 * p.delackMs)));
    Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
}

struct LoadResult
{
    Time loadTime;
    uint64_t runNs = 0;
    uint64_t setupNs = 0;
    uint64_t events = 0;
};

// One load from nothing. With counters, every packet is looked at.
LoadResult
Load(const Parameters& p, Counters* counters)
{
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();

    NodeContainer nodes(2 + p.servers);
    Ptr<Node> client = nodes.Get(0);
    Ptr<Node> hub = nodes.Get(1);

    // Static routes only: the shortest look-up that ns-3 has.
    InternetStackHelper internet;
    internet.SetRoutingHelper(Ipv4StaticRoutingHelper());
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);

    PointToPointHelper link;
    link.DisableFlowControl(); // no queue discipline above the device
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(1e6 * p.rttMs / 4)));
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(p.rateBps)));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, p.queuePackets)));
    NetDeviceContainer bottleneck = link.Install(client, hub);

    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(2 * p.rateBps)));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, 1'000'000)));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer ends = addresses.Assign(bottleneck);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(client->GetObject<Ipv4>())->SetDefaultRoute(ends.GetAddress(1), 1);
    std::vector<Ipv4Address> serverAddresses;
    for (uint32_t i = 0; i < p.servers; i++)
    {
        Ptr<Node> server = nodes.Get(2 + i);
        addresses.NewNetwork();
        Ipv4InterfaceContainer pair = addresses.Assign(link.Install(hub, server));
        routing.GetStaticRouting(server->GetObject<Ipv4>())->SetDefaultRoute(pair.GetAddress(0), 1);
        serverAddresses.push_back(pair.GetAddress(1));
    }

    std::unique_ptr<SenderCounter> senderCounter;
    if (counters)
    {
        senderCounter = std::make_unique<SenderCounter>(*counters);
    }
    SenderCounter* sender = senderCounter.get();
    std::vector<std::unique_ptr<Server>> servers;
    for (uint32_t i = 0; i < p.servers; i++)
    {
        std::vector<uint32_t> responses;
        if (i == 0)
        {
            responses.push_back(p.rootBytes);
        }
        for (uint32_t resource = i; resource < p.resources; resource += p.servers)
        {
            responses.push_back(p.resourceBytes);
        }
        servers.push_back(
            std::make_unique<Server>(nodes.Get(2 + i), p.requestBytes, std::move(responses), sender));
    }
    Client browser(client, p, serverAddresses, sender);
    if (counters)
    {
        const auto count = [](Ptr<NetDevice> device, uint64_t* drops) {
            DynamicCast<PointToPointNetDevice>(device)->GetQueue()->TraceConnectWithoutContext(
                "Drop",
                MakeBoundCallback(&CountDrop, drops));
        };
        count(bottleneck.Get(0), &counters->dropsUp);
        count(bottleneck.Get(1), &counters->dropsDown);
        bottleneck.Get(0)->TraceConnectWithoutContext("PhyRxEnd",
                                                      MakeBoundCallback(&CountData, &counters->dataPackets));
    }
    Simulator::ScheduleNow(&Client::Start, &browser);

    const auto ready = Clock::now();
    Simulator::Run();
    const auto done = Clock::now();

    LoadResult result;
    result.loadTime = browser.Finished();
    result.events = Simulator::GetEventCount();
    Simulator::Destroy();
    const auto nanoseconds = [](auto span) {
        return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(span).count());
    };
    result.runNs = nanoseconds(done - ready);
    result.setupNs = nanoseconds(ready - begin) + nanoseconds(Clock::now() - done);
    return result;
}

} // namespace

int
main(int argc, char** argv)
{
    Parameters p;
    CommandLine arguments(__FILE__);
    arguments.AddValue("rate_bps", "bottleneck rate, bit/s", p.rateBps);
    arguments.AddValue("rtt_ms", "round-trip time without queueing, ms", p.rttMs);
    arguments.AddValue("queue_packets", "packets that may wait at each end of the bottleneck", p.queuePackets);
    arguments.AddValue("icwnd", "initial window, segments", p.icwnd);
    arguments.AddValue("sack", "selective acknowledgements", p.sack);
    arguments.AddValue("delack_count", "segments that one ACK may cover", p.delackCount);
    arguments.AddValue("delack_ms", "longest delay of an ACK, ms", p.delackMs);
    arguments.AddValue("mss", "payload of a full segment, bytes", p.mss);
    arguments.AddValue("buffer_bytes", "send and receive buffer, bytes", p.bufferBytes);
    arguments.AddValue("min_rto_ms", "lower bound of the retransmission timeout, ms", p.minRtoMs);
    arguments.AddValue("syn_timeout_ms", "first timeout of a SYN, ms", p.synTimeoutMs);
    arguments.AddValue("servers", "servers, one connection each", p.servers);
    arguments.AddValue("resources", "resources after the root document", p.resources);
    arguments.AddValue("root_bytes", "size of the root document, bytes", p.rootBytes);
    arguments.AddValue("resource_bytes", "size of each resource, bytes", p.resourceBytes);
    arguments.AddValue("request_bytes", "size of each request, bytes", p.requestBytes);
    arguments.AddValue("pipelined", "several requests on their way on a connection", p.pipelined);
    arguments.AddValue("loads", "timed loads", p.loads);
    arguments.Parse(argc, argv);
    SetDefaults(p);

    Counters counters;
    const LoadResult counted = Load(p, &counters);
    if (counted.loadTime.IsZero())
    {
        std::cerr << "error: the load did not finish" << std::endl;
        return 1;
    }
    uint64_t totalNs = 0;
    uint64_t setupNs = 0;
    for (uint32_t i = 0; i < p.loads; i++)
    {
        const LoadResult timed = Load(p, nullptr);
        NS_ABORT_MSG_IF(timed.loadTime != counted.loadTime, "two equal loads took different times");
        totalNs += timed.runNs;
        setupNs += timed.setupNs;
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);

    std::cout.precision(12);
    std::cout << "{\"load_time_ms\": " << counted.loadTime.GetNanoSeconds() / 1e6
              << ", \"data_packets\": " << counters.dataPackets
              << ", \"drops\": " << counters.dropsDown + counters.dropsUp
              << ", \"drops_down\": " << counters.dropsDown << ", \"drops_up\": " << counters.dropsUp
              << ", \"retransmissions\": " << counters.retransmissions
              << ", \"timeouts\": " << counters.timeouts << ", \"recoveries\": " << counters.recoveries
              << ", \"events\": " << counted.events << ", \"loads\": " << p.loads
              << ", \"wall_ns\": " << totalNs << ", \"setup_ns\": " << setupNs
              << ", \"peak_memory_bytes\": " << usage.ru_maxrss * 1024;
    if (p.loads > 0)
    {
        std::cout << ", \"loads_per_second\": " << 1e9 * p.loads / totalNs;
    }
    std::cout << "}" << std::endl;
    return 0;
}
