import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashSet;
import org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl;
import org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData;
import org.apache.pulsar.policies.data.loadbalancer.ResourceUsage;
import org.apache.pulsar.policies.data.loadbalancer.TimeAverageBrokerData;

/** The figures of a broker of the modular manager, and when they are reported. */
final class Figures {
    private Figures() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        return switch (kind) {
            case "percent_usage" -> answered("percent",
                    new ResourceUsage(Json.number(in, "usage"), Json.number(in, "limit")).percentUsage());
            case "max_usage" -> usage(in);
            case "time_average_broker" -> timeAverage(in);
            default -> Json.MAPPER.createObjectNode().put("write", written(in));
        };
    }

    private static ObjectNode answered(String name, double value) {
        var out = Json.MAPPER.createObjectNode();
        out.set(name, Json.number(value));
        return out;
    }

    private static ObjectNode usage(JsonNode in) {
        LocalBrokerData local = Leader.broker(in.get("broker")).getLocalData();
        var settings = Json.settings(in);
        var out = answered("max", local.getMaxResourceUsage());
        out.set("weighted", Json.number(local.getMaxResourceUsageWithWeight(
                settings.getLoadBalancerCPUResourceWeight(), settings.getLoadBalancerDirectMemoryResourceWeight(),
                settings.getLoadBalancerBandwidthInResourceWeight(),
                settings.getLoadBalancerBandwidthOutResourceWeight())));
        return out;
    }

    private static ObjectNode timeAverage(JsonNode in) {
        var leader = new Leader();
        leader.take(in);
        var average = new TimeAverageBrokerData();
        average.reset(new LinkedHashSet<>(Json.texts(in.get("owned"))), leader.data.getBundleData(), Leader.unknown());
        var out = Json.MAPPER.createObjectNode();
        out.set("short", rates(average.getShortTermMsgRateIn(), average.getShortTermMsgRateOut(),
                average.getShortTermMsgThroughputIn(), average.getShortTermMsgThroughputOut()));
        out.set("long", rates(average.getLongTermMsgRateIn(), average.getLongTermMsgRateOut(),
                average.getLongTermMsgThroughputIn(), average.getLongTermMsgThroughputOut()));
        return out;
    }

    private static ObjectNode rates(double rateIn, double rateOut, double thrIn, double thrOut) {
        var out = answered("rateIn", rateIn);
        out.set("rateOut", Json.number(rateOut));
        out.set("thrIn", Json.number(thrIn));
        out.set("thrOut", Json.number(thrOut));
        return out;
    }

    private static boolean written(JsonNode in) {
        var manager = new ModularLoadManagerImpl();
        LocalBrokerData last = reported(in.get("last"));
        LocalBrokerData now = reported(in.get("now"));
        now.setLastUpdate(System.currentTimeMillis() - in.get("ageMs").asLong());
        Json.set(manager, "conf", Json.settings(in));
        Json.set(manager, "lastData", last);
        Json.set(manager, "localData", now);
        return Json.call(manager, ModularLoadManagerImpl.class, "needBrokerDataUpdate", new Class<?>[0]);
    }

    private static LocalBrokerData reported(JsonNode entry) {
        LocalBrokerData made = Leader.broker(entry).getLocalData();
        made.setNumBundles(entry.get("numBundles").asInt());
        return made;
    }
}
