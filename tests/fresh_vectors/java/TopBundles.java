import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.broker.loadbalance.extensions.models.TopKBundles;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;

/** The bundles of a report of the extensible manager. */
final class TopBundles {
    private TopBundles() {
    }

    @SuppressWarnings("rawtypes")
    static ObjectNode answer(String kind, JsonNode in) {
        List<Map.Entry<String, ? extends Comparable>> entries = new ArrayList<>();
        for (JsonNode bundle : in.get("bundles")) {
            entries.add(Map.entry(bundle.get("bundle").asText(), stats(bundle)));
        }
        int k = in.get("k").asInt();
        TopKBundles.partitionSort(entries, k);
        var out = Json.MAPPER.createObjectNode();
        var first = out.putArray("first");
        entries.subList(0, Math.min(k, entries.size())).forEach(entry -> first.add(entry.getKey()));
        return out;
    }

    static NamespaceBundleStats stats(JsonNode bundle) {
        var stats = new NamespaceBundleStats();
        stats.msgRateIn = Json.number(bundle, "rateIn");
        stats.msgRateOut = Json.number(bundle, "rateOut");
        stats.msgThroughputIn = Json.number(bundle, "thrIn");
        stats.msgThroughputOut = Json.number(bundle, "thrOut");
        stats.topics = bundle.path("topics").asLong();
        stats.consumerCount = bundle.path("consumers").asInt();
        stats.producerCount = bundle.path("producers").asInt();
        stats.cacheSize = bundle.path("cache").asLong();
        return stats;
    }
}
