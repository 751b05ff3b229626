import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.loadbalance.extensions.models.TopKBundles;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;

/** The bundles of a report of the extensible manager, of all that a broker has. */
final class LargestBundles {
    private LargestBundles() {
    }

    static ObjectNode answer(String kind, JsonNode in) throws Exception {
        Map<String, NamespaceBundleStats> stats = new ConcurrentHashMap<>();
        in.get("bundles").forEach(entry -> stats.put(entry.get("bundle").asText(), TopBundles.stats(entry)));
        var cluster = Cluster.with(Json.settings(in), in);
        try {
            var largest = new TopKBundles(cluster);
            largest.update(stats, in.get("k").asInt());
            var out = Json.MAPPER.createObjectNode();
            var top = out.putArray("top");
            largest.getLoadData().getTopBundlesLoadData().forEach(bundle -> top.add(bundle.bundleName()));
            return out;
        } finally {
            cluster.forget();
        }
    }
}
