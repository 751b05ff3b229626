import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.pulsar.common.naming.FlowOrQpsEquallyDivideBundleSplitOption;
import org.apache.pulsar.common.naming.NamespaceBundleSplitAlgorithm;
import org.apache.pulsar.common.policies.data.stats.TopicStatsImpl;

/** Where a bundle is cut by the flow of its topics. */
final class FlowSplits {
    private FlowSplits() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        Map<String, TopicStatsImpl> statistics = new HashMap<>();
        for (JsonNode topic : in.get("topics")) {
            if (!topic.path("noStats").asBoolean()) {
                var made = new TopicStatsImpl();
                made.msgRateIn = topic.get("rateIn").asDouble();
                made.msgRateOut = topic.get("rateOut").asDouble();
                made.msgThroughputIn = topic.get("thrIn").asDouble();
                made.msgThroughputOut = topic.get("thrOut").asDouble();
                statistics.put(topic.get("name").asText(), made);
            }
        }
        JsonNode limits = in.get("config");
        var option = new FlowOrQpsEquallyDivideBundleSplitOption(Splits.service(in.get("topics")),
                Splits.bundle(in.get("bundle").asText()), null, statistics, limits.get("maxMsgRate").asInt(),
                limits.get("maxBandwidthMbytes").asInt(), limits.get("diffPercent").asInt());
        return Splits.cut(NamespaceBundleSplitAlgorithm.FLOW_OR_QPS_EQUALLY_DIVIDE_ALGO, option);
    }
}
