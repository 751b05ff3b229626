import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.LeaderElectionService;
import org.apache.pulsar.broker.loadbalance.LoadManager;
import org.apache.pulsar.broker.namespace.NamespaceService;
import org.apache.pulsar.broker.resources.PulsarResources;
import org.apache.pulsar.client.admin.Namespaces;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.common.naming.NamespaceBundle;
import org.apache.pulsar.common.naming.NamespaceBundleFactory;
import org.apache.pulsar.common.naming.NamespaceName;
import org.apache.pulsar.common.policies.data.AutoFailoverPolicyData;
import org.apache.pulsar.common.policies.data.AutoFailoverPolicyType;
import org.apache.pulsar.common.policies.data.BundlesData;
import org.apache.pulsar.common.policies.data.LocalPolicies;
import org.apache.pulsar.common.policies.data.NamespaceIsolationDataImpl;
import org.apache.pulsar.metadata.api.MetadataStoreConfig;
import org.apache.pulsar.metadata.api.coordination.CoordinationService;
import org.apache.pulsar.metadata.api.coordination.LockManager;
import org.apache.pulsar.metadata.api.extended.MetadataStoreExtended;
import org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData;

/** The leader's broker: reports of others are in a list, policies in a store in memory, unloads are written down. */
final class Cluster extends Service {
    private static final String NAME = "c";

    /** The living brokers' reports in the order in which the metadata lists them. */
    Map<String, LocalBrokerData> reports;
    /** The bundles that this broker owns itself. */
    Set<NamespaceBundle> owned;
    /** Bundle and destination of every unload since the list was cleared. */
    List<String[]> unloads;
    /** Who is given the wish of an unload. */
    LoadManager manager;
    private MetadataStoreExtended store;
    private NamespaceBundleFactory factory;

    private Cluster() {
        super(null);
    }

    static Cluster with(ServiceConfiguration settings, JsonNode policies) throws Exception {
        Cluster made = Json.bare(Cluster.class);
        made.store = MetadataStoreExtended.create("memory:" + System.nanoTime(), MetadataStoreConfig.builder().build());
        made.factory = Json.bare(NamespaceBundleFactory.class);
        made.owned = new HashSet<>();
        made.unloads = new ArrayList<>();
        made.reports = Map.of();
        settings.setClusterName(NAME);
        made.settings = settings;
        made.resources = new PulsarResources(made.store, made.store);
        made.write(policies);
        return made;
    }

    /** One that only names bundles. */
    static Cluster naming() {
        Cluster made = Json.bare(Cluster.class);
        made.factory = Json.bare(NamespaceBundleFactory.class);
        return made;
    }

    void forget() throws Exception {
        store.close();
    }

    private void write(JsonNode in) throws Exception {
        Map<String, NamespaceIsolationDataImpl> isolation = new LinkedHashMap<>();
        in.path("isolation").fields().forEachRemaining(each -> isolation.put(each.getKey(), isolation(each.getValue())));
        if (!isolation.isEmpty()) {
            resources.getNamespaceResources().getIsolationPolicies().setIsolationDataWithCreate(NAME, before -> isolation);
        }
        for (var each = in.path("antiAffinity").fields(); each.hasNext();) {
            var entry = each.next();
            var policies = new LocalPolicies(BundlesData.builder().numBundles(1).build(), null, entry.getValue().asText());
            resources.getLocalPolicies()
                    .setLocalPoliciesWithCreate(NamespaceName.get(entry.getKey()), before -> policies);
        }
    }

    private static NamespaceIsolationDataImpl isolation(JsonNode policy) {
        var failover = AutoFailoverPolicyData.builder().policyType(AutoFailoverPolicyType.min_available)
                .parameters(Map.of("min_limit", policy.get("minLimit").asText(), "usage_threshold", "100")).build();
        return NamespaceIsolationDataImpl.builder().namespaces(Json.texts(policy.get("namespaces")))
                .primary(Json.texts(policy.get("primary"))).secondary(Json.texts(policy.get("secondary")))
                .autoFailoverPolicy(failover).build();
    }

    NamespaceBundle bundle(String name) {
        int slash = name.lastIndexOf('/');
        return factory.getBundle(name.substring(0, slash), name.substring(slash + 1));
    }

    @Override
    public CoordinationService getCoordinationService() {
        LockManager<?> locks = Stand.in(LockManager.class, (method, given) -> switch (method) {
            case "listLocks" -> CompletableFuture.completedFuture(new ArrayList<>(reports.keySet()));
            case "readLock" -> CompletableFuture.completedFuture(Optional.ofNullable(
                    reports.get(((String) given[0]).substring(LoadManager.LOADBALANCE_BROKERS_ROOT.length() + 1))));
            default -> throw new UnsupportedOperationException(method);
        });
        return Stand.in(CoordinationService.class, (method, given) -> locks);
    }

    @Override
    public MetadataStoreExtended getLocalMetadataStore() {
        return store;
    }

    @Override
    public ScheduledExecutorService getLoadManagerExecutor() {
        return Stand.in(ScheduledExecutorService.class, (method, given) -> null);
    }

    @Override
    public LeaderElectionService getLeaderElectionService() {
        return Json.bare(Leading.class);
    }

    private static final class Leading extends LeaderElectionService {
        private Leading() {
            super(null, null, null, null);
        }

        @Override
        public boolean isLeader() {
            return true;
        }
    }

    @Override
    public NamespaceService getNamespaceService() {
        Namespacing made = Json.bare(Namespacing.class);
        made.cluster = this;
        return made;
    }

    private static final class Namespacing extends NamespaceService {
        private Cluster cluster;

        private Namespacing() {
            super(null);
        }

        @Override
        public Set<NamespaceBundle> getOwnedServiceUnits() {
            return cluster.owned;
        }

        @Override
        public NamespaceBundleFactory getNamespaceBundleFactory() {
            return cluster.factory;
        }
    }

    @Override
    public PulsarAdmin getAdminClient() {
        Namespaces namespaces = Stand.in(Namespaces.class, (method, given) -> {
            if (!method.equals("unloadNamespaceBundle")) {
                throw new UnsupportedOperationException(method);
            }
            String bundle = given[0] + "/" + given[1];
            unloads.add(new String[] {bundle, (String) given[2]});
            manager.setNamespaceBundleAffinity(bundle, (String) given[2]);
            return null;
        });
        return Stand.in(PulsarAdmin.class, (method, given) -> namespaces);
    }
}
