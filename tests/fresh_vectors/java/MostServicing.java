import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.pulsar.broker.loadbalance.impl.BundleRangeCache;
import org.apache.pulsar.broker.loadbalance.impl.LoadManagerShared;

/** Brokers with fewest bundles of a namespace. */
final class MostServicing {
    private MostServicing() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        var ranges = new BundleRangeCache();
        in.get("loaded").fields().forEachRemaining(
                entry -> ranges.reloadFromBundles(entry.getKey(), Json.texts(entry.getValue()).stream()));
        for (JsonNode pair : in.path("added")) {
            String bundle = pair.get(1).asText();
            ranges.add(pair.get(0).asText(), LoadManagerShared.getNamespaceNameFromBundleName(bundle),
                    LoadManagerShared.getBundleRangeFromBundleName(bundle));
        }
        var candidates = Json.hashSet(Json.texts(in.get("candidates")));
        LoadManagerShared.removeMostServicingBrokersForNamespace(in.get("bundle").asText(), candidates, ranges);
        return Filters.left(candidates, null);
    }
}
