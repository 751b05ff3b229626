import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.loadbalance.BrokerFilterException;
import org.apache.pulsar.broker.loadbalance.extensions.LoadManagerContext;
import org.apache.pulsar.broker.loadbalance.extensions.channel.ServiceUnitStateChannel;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLookupData;
import org.apache.pulsar.broker.loadbalance.extensions.filter.BrokerFilter;
import org.apache.pulsar.broker.loadbalance.extensions.policies.AntiAffinityGroupPolicyHelper;
import org.apache.pulsar.broker.loadbalance.extensions.policies.IsolationPoliciesHelper;
import org.apache.pulsar.broker.loadbalance.extensions.scheduler.TransferShedder;
import org.apache.pulsar.common.naming.NamespaceName;
import org.apache.pulsar.common.naming.ServiceUnitId;

/** What keeps {@code TransferShedder} from moving a bundle: owners, namespaces with policies, and a filter. */
final class TransferPolicies {
    private TransferPolicies() {
    }

    static void give(TransferShedder shedder, JsonNode policies) {
        Isolated isolated = Json.bare(Isolated.class);
        isolated.namespaces = Set.copyOf(Json.texts(policies.get("isolated")));
        Grouped grouped = Json.bare(Grouped.class);
        grouped.namespaces = Set.copyOf(Json.texts(policies.get("antiAffinity")));
        Set<List<String>> notOwned = new HashSet<>();
        policies.get("notOwned").forEach(pair -> notOwned.add(Json.texts(pair)));
        Json.set(shedder, "pulsar", Cluster.naming());
        Json.set(shedder, "isolationPoliciesHelper", isolated);
        Json.set(shedder, "antiAffinityGroupPolicyHelper", grouped);
        Json.set(shedder, "brokerFilterPipeline", List.of(new Blocking(policies.get("blocked"))));
        Json.set(shedder, "channel", Stand.in(ServiceUnitStateChannel.class,
                (method, given) -> !notOwned.contains(List.of((String) given[0], (String) given[1]))));
    }

    private static final class Isolated extends IsolationPoliciesHelper {
        private Set<String> namespaces;

        private Isolated() {
            super(null);
        }

        @Override
        public boolean hasIsolationPolicy(NamespaceName namespace) {
            return namespaces.contains(namespace.toString());
        }
    }

    private static final class Grouped extends AntiAffinityGroupPolicyHelper {
        private Set<String> namespaces;

        private Grouped() {
            super(null, null);
        }

        @Override
        public boolean hasAntiAffinityGroupPolicy(String bundle) {
            return namespaces.contains(bundle.substring(0, bundle.lastIndexOf('/')));
        }
    }

    private record Blocking(JsonNode blocked) implements BrokerFilter {
        @Override
        public String name() {
            return "blocking";
        }

        @Override
        public CompletableFuture<Map<String, BrokerLookupData>> filterAsync(
                Map<String, BrokerLookupData> brokers, ServiceUnitId bundle, LoadManagerContext context) {
            List<String> names = Json.texts(blocked.path(bundle.toString()));
            if (names.contains("*fail")) {
                return CompletableFuture.failedFuture(new BrokerFilterException("blocked"));
            }
            brokers.keySet().removeAll(new HashSet<>(names));
            return CompletableFuture.completedFuture(brokers);
        }
    }
}
