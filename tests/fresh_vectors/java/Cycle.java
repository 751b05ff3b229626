import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.ModularLoadManagerStrategy;
import org.apache.pulsar.broker.loadbalance.impl.AvgShedder;
import org.apache.pulsar.broker.loadbalance.impl.LoadManagerShared;
import org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl;
import org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerWrapper;
import org.apache.pulsar.policies.data.loadbalancer.BrokerData;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;
import org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;

/** The modular manager as a whole: reports, look-ups, cycles of shedding, and time that passes. */
final class Cycle {
    private static final String CLASSES = "org.apache.pulsar.broker.loadbalance.impl.";

    private final Cluster cluster;
    private final ModularLoadManagerImpl manager = new ModularLoadManagerImpl();
    private final ModularLoadManagerWrapper wrapper = new ModularLoadManagerWrapper(manager);
    private final LoadData data;
    private final ServiceConfiguration settings;
    private Collection<String> answers = List.of();
    /** Whether {@code AvgShedder} has drawn in this look-up. */
    private boolean drawn;

    static ObjectNode answer(String kind, JsonNode in) throws Exception {
        for (String name : List.of("localPrimariesCache", "localSecondaryCache")) {
            // A thread uses them again and again, and a table that was large once has another order.
            ((FastThreadLocal<?>) Json.declared(LoadManagerShared.class, name).get(null)).remove();
        }
        var cycle = new Cycle(in);
        try {
            return Json.steps(in, cycle::step);
        } finally {
            cycle.cluster.forget();
            Json.<ExecutorService>field(cycle.manager, "executors").shutdownNow();
        }
    }

    private Cycle(JsonNode in) throws Exception {
        settings = Json.settings(in);
        settings.setLoadBalancerLoadSheddingStrategy(CLASSES + settings.getLoadBalancerLoadSheddingStrategy());
        settings.setLoadBalancerLoadPlacementStrategy(CLASSES + settings.getLoadBalancerLoadPlacementStrategy());
        settings.setLoadBalancerAutoBundleSplitEnabled(false);
        cluster = Cluster.with(settings, in);
        cluster.manager = wrapper;
        wrapper.initialize(cluster);
        Map<String, String> domains = new HashMap<>();
        in.path("domains").fields().forEachRemaining(each -> domains.put(each.getKey(), each.getValue().asText()));
        Json.set(manager, "brokerToFailureDomainMap", domains);
        for (String name : List.of("placementStrategy", "sheddingExcludedNamespaceSelectionStrategy")) {
            Json.set(manager, name, new Smallest(Json.field(manager, name)));
        }
        data = Json.field(manager, "loadData");
    }

    private JsonNode step(JsonNode step) {
        return switch (step.get("op").asText()) {
            case "reports" -> reports(step);
            case "shed" -> shed();
            case "place" -> place(step.get("bundle").asText());
            default -> {
                long passed = step.get("ms").asLong();
                data.getRecentlyUnloadedBundles().replaceAll((name, time) -> time - passed);
                yield Json.MAPPER.createObjectNode();
            }
        };
    }

    private JsonNode reports(JsonNode step) {
        cluster.reports = Json.named(step.get("brokers"), "broker", this::report);
        cluster.owned.clear();
        step.get("leaderOwns").forEach(name -> cluster.owned.add(cluster.bundle(name.asText())));
        // A notification does both, the first one at once.
        Json.call(manager, ModularLoadManagerImpl.class, "reapDeadBrokerPreallocations", new Class<?>[] {List.class},
                List.copyOf(cluster.reports.keySet()));
        manager.updateAll();
        var answer = Json.MAPPER.createObjectNode();
        var brokers = answer.putObject("brokers");
        for (Map.Entry<String, BrokerData> entry : data.getBrokerData().entrySet()) {
            var average = entry.getValue().getTimeAverageData();
            brokers.putArray(entry.getKey()).add(Json.number(average.getLongTermMsgRateIn()))
                    .add(Json.number(average.getLongTermMsgRateOut()))
                    .add(Json.array(new TreeSet<>(entry.getValue().getPreallocatedBundleData().keySet())));
        }
        return answer;
    }

    private LocalBrokerData report(JsonNode entry) {
        Map<String, NamespaceBundleStats> stats = new LinkedHashMap<>();
        entry.get("stats").fields().forEachRemaining(each -> stats.put(each.getKey(), stats(each.getValue())));
        var local = new LocalBrokerData();
        local.update(Leader.system(entry), stats);
        local.setBrokerVersionString(entry.path("version").asText(null));
        local.setLoadManagerClassName(
                entry.has("loadManager") ? entry.get("loadManager").asText(null) : settings.getLoadManagerClassName());
        local.setPersistentTopicsEnabled(entry.path("persistent").asBoolean(true));
        return local;
    }

    private static NamespaceBundleStats stats(JsonNode entry) {
        var made = new NamespaceBundleStats();
        made.topics = entry.path("topics").asLong();
        made.msgRateIn = Json.number(entry, "rateIn");
        made.msgRateOut = Json.number(entry, "rateOut");
        made.msgThroughputIn = Json.number(entry, "thrIn");
        made.msgThroughputOut = Json.number(entry, "thrOut");
        return made;
    }

    private JsonNode shed() {
        cluster.unloads.clear();
        String error = null;
        drawn = false;
        try {
            wrapper.doLoadShedding();
        } catch (RuntimeException escaped) {
            error = escaped.getClass().getSimpleName();
        }
        var answer = Json.MAPPER.createObjectNode();
        var unloads = answer.putArray("unload");
        cluster.unloads.forEach(pair -> unloads.addArray().add(pair[0]).add(pair[1]));
        answer.set("recent", Json.array(new TreeSet<>(data.getRecentlyUnloadedBundles().keySet())));
        return error == null ? answer : answer.put("error", error);
    }

    private JsonNode place(String bundle) {
        var answer = Json.MAPPER.createObjectNode();
        boolean wished = Json.<Map<String, String>>field(manager, "bundleBrokerAffinityMap").containsKey(bundle);
        boolean placed = Json.<Map<String, String>>field(manager, "preallocatedBundleToBroker").containsKey(bundle);
        answers = List.of();
        drawn = false;
        try {
            var picked = wrapper.getLeastLoaded(cluster.bundle(bundle)).map(unit -> unit.getResourceId());
            answer.put("by", wished ? "affinity" : placed ? "preallocated" : "strategy");
            if (!wished && !placed) {
                answer.set("answers", Json.array(new TreeSet<>(answers)));
            }
            return answer.put("picked", picked.orElse(null));
        } catch (RuntimeException error) {
            return Json.MAPPER.createObjectNode().put("error", error.getClass().getSimpleName());
        }
    }

    /** A strategy of Pulsar's of which the smallest name wins where it draws. */
    private final class Smallest implements ModularLoadManagerStrategy {
        private final ModularLoadManagerStrategy asked;
        private final Plans plans;

        private Smallest(ModularLoadManagerStrategy asked) {
            this.asked = asked;
            plans = asked instanceof AvgShedder shedder ? new Plans(shedder) : null;
        }

        @Override
        public Optional<String> selectBroker(
                Set<String> candidates, BundleData bundle, LoadData known, ServiceConfiguration conf) {
            boolean knows = plans == null || candidates.contains(plans.kept().get(bundle));
            Optional<String> picked = asked.selectBroker(candidates, bundle, known, conf);
            if (drawn && knows) {
                return picked; // asked again because it is overloaded, and it remembers what it drew
            }
            answers = picked.map(List::of).orElse(List.of());
            if (!knows) {
                drawn = true;
                answers = candidates;
                plans.kept().put(bundle, new TreeSet<>(candidates).first());
            }
            for (var declared : asked.getClass().getDeclaredFields()) {
                if (declared.getName().equals("bestBrokers") && picked.isPresent()) {
                    answers = Json.<List<String>>field(asked, "bestBrokers");
                }
            }
            return smallest(answers);
        }

        /** What releases from 5.0 on ask instead; before, it overrides nothing. */
        public Optional<String> selectBrokerForBundle(
                Set<String> candidates, String name, BundleData bundle, LoadData known, ServiceConfiguration conf) {
            return plans == null
                    ? selectBroker(candidates, bundle, known, conf)
                    : smallest(plans.answers(candidates, name, bundle, known, conf));
        }

        private Optional<String> smallest(Collection<String> possible) {
            answers = List.copyOf(possible);
            return answers.stream().min(String::compareTo);
        }

        @Override
        public void onActiveBrokersChange(Set<String> active) {
            asked.onActiveBrokersChange(active);
        }
    }
}
