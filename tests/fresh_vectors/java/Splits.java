import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.BoundType;
import com.google.common.collect.Range;
import com.google.common.hash.Hashing;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.pulsar.broker.namespace.NamespaceService;
import org.apache.pulsar.common.naming.BundleSplitOption;
import org.apache.pulsar.common.naming.NamespaceBundle;
import org.apache.pulsar.common.naming.NamespaceBundleFactory;
import org.apache.pulsar.common.naming.NamespaceBundleSplitAlgorithm;
import org.apache.pulsar.common.naming.NamespaceBundles;
import org.apache.pulsar.common.naming.NamespaceName;

/** Where an algorithm cuts a bundle. */
final class Splits {
    private static final NamespaceName NAMESPACE = NamespaceName.get("tn/ns1");

    private Splits() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        var option = new BundleSplitOption(service(in.get("topics")), bundle(in.get("bundle").asText()), positions(in));
        return cut(algorithm(kind, in), option);
    }

    private static NamespaceBundleSplitAlgorithm algorithm(String kind, JsonNode in) {
        return switch (kind) {
            case "split_range" -> NamespaceBundleSplitAlgorithm.RANGE_EQUALLY_DIVIDE_ALGO;
            case "split_topic_count" -> NamespaceBundleSplitAlgorithm.TOPIC_COUNT_EQUALLY_DIVIDE_ALGO;
            default -> in.get("force").asBoolean() ? NamespaceBundleSplitAlgorithm.SPECIFIED_POSITIONS_DIVIDE_FORCE_ALGO
                    : NamespaceBundleSplitAlgorithm.SPECIFIED_POSITIONS_DIVIDE_ALGO;
        };
    }

    static ObjectNode cut(NamespaceBundleSplitAlgorithm algorithm, BundleSplitOption option) {
        var out = Json.MAPPER.createObjectNode();
        List<Long> cuts;
        try {
            cuts = algorithm.getSplitBoundary(option).join();
        } catch (CompletionException error) {
            return out.put("error", error.getCause().getClass().getSimpleName());
        } catch (RuntimeException error) {
            return out.put("error", error.getClass().getSimpleName());
        }
        if (cuts == null) {
            return out.putNull("boundaries");
        }
        var boundaries = out.putArray("boundaries");
        cuts.forEach(boundaries::add);
        return out;
    }

    static List<Long> positions(JsonNode in) {
        if (in.path("positions").isNull()) {
            return null;
        }
        var all = new ArrayList<Long>();
        in.path("positions").forEach(position -> all.add(position.asLong()));
        return all;
    }

    static NamespaceBundle bundle(String range) {
        NamespaceBundleFactory factory = Json.bare(NamespaceBundleFactory.class);
        Json.set(factory, "hashFunc", Hashing.crc32());
        long lower = Long.decode(range.substring(0, 10));
        long upper = Long.decode(range.substring(11));
        var type = upper == NamespaceBundles.FULL_UPPER_BOUND ? BoundType.CLOSED : BoundType.OPEN;
        return new NamespaceBundle(NAMESPACE, Range.range(lower, BoundType.CLOSED, upper, type), factory);
    }

    /** One that has these topics; null for none that can be listed. */
    static NamespaceService service(JsonNode topics) {
        Topics made = Json.bare(Topics.class);
        if (topics != null && !topics.isNull()) {
            made.names = new ArrayList<>();
            topics.forEach(topic -> made.names.add(topic.isTextual() ? topic.asText() : topic.get("name").asText()));
        }
        return made;
    }

    private static final class Topics extends NamespaceService {
        private List<String> names;

        private Topics() {
            super(null);
        }

        @Override
        public CompletableFuture<List<String>> getOwnedTopicListForNamespaceBundle(NamespaceBundle bundle) {
            return CompletableFuture.completedFuture(names);
        }
    }
}
