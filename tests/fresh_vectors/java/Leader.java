import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl;
import org.apache.pulsar.policies.data.loadbalancer.BrokerData;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;
import org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;
import org.apache.pulsar.policies.data.loadbalancer.ResourceUsage;
import org.apache.pulsar.policies.data.loadbalancer.SystemResourceUsage;
import org.apache.pulsar.policies.data.loadbalancer.TimeAverageBrokerData;
import org.apache.pulsar.policies.data.loadbalancer.TimeAverageMessageData;

/** The leader's maps while the steps of a case replace what is in them. */
final class Leader {
    final LoadData data = new LoadData();
    private final Map<String, BundleData> everSeen = new HashMap<>();

    void take(JsonNode step) {
        if (step.has("brokers")) {
            Json.replace(data.getBrokerData(), Json.named(step.get("brokers"), "broker", Leader::broker));
        }
        if (step.has("bundles")) {
            replaceBundles(Json.named(step.get("bundles"), "bundle", Leader::bundle));
        }
        if (step.has("recentlyUnloaded")) {
            data.getRecentlyUnloadedBundles().clear();
            Json.texts(step.get("recentlyUnloaded")).forEach(name -> data.getRecentlyUnloadedBundles().put(name, 1L));
        }
    }

    /** What a bundle that nobody has reported is taken for, the same object every time. */
    BundleData bundleOrDefault(String name) {
        BundleData known = data.getBundleData().get(name);
        return known != null ? known : everSeen.computeIfAbsent(name, key -> new BundleData(10, 1000, unknown()));
    }

    /** What the manager takes a bundle's traffic for before it knows any. */
    static NamespaceBundleStats unknown() {
        var stats = new NamespaceBundleStats();
        stats.msgRateIn = stats.msgRateOut = ModularLoadManagerImpl.DEFAULT_MESSAGE_RATE;
        stats.msgThroughputIn = stats.msgThroughputOut = ModularLoadManagerImpl.DEFAULT_MESSAGE_THROUGHPUT;
        return stats;
    }

    /** Where {@code BundleData} has no equality of its own, it matters that the manager changes the ones it has. */
    private void replaceBundles(Map<String, BundleData> others) {
        if (Json.declares(BundleData.class, "equals", Object.class)) {
            Json.replace(data.getBundleData(), others);
            return;
        }
        data.getBundleData().keySet().retainAll(others.keySet());
        others.forEach((name, next) -> {
            BundleData kept = everSeen.computeIfAbsent(name, key -> next);
            kept.setShortTermData(next.getShortTermData());
            kept.setLongTermData(next.getLongTermData());
            kept.setTopics(next.getTopics());
            data.getBundleData().put(name, kept);
        });
    }

    static BrokerData broker(JsonNode entry) {
        var local = new LocalBrokerData();
        local.setCpu(usage(entry, "cpu"));
        local.setMemory(usage(entry, "memory"));
        local.setDirectMemory(usage(entry, "directMemory"));
        local.setBandwidthIn(usage(entry, "bandwidthIn"));
        local.setBandwidthOut(usage(entry, "bandwidthOut"));
        local.setMsgRateIn(Json.number(entry, "rateIn"));
        local.setMsgRateOut(Json.number(entry, "rateOut"));
        local.setMsgThroughputIn(Json.number(entry, "thrIn"));
        local.setMsgThroughputOut(Json.number(entry, "thrOut"));
        local.setBundles(Json.hashSet(Json.texts(entry.path("bundles"))));
        local.setNumTopics(entry.path("topics").asInt());
        local.setBrokerVersionString(entry.path("version").asText(null));
        if (entry.has("loadManager")) {
            Json.set(local, "loadManagerClassName", entry.get("loadManager").asText(null));
        }
        var known = new BrokerData(local);
        var average = new TimeAverageBrokerData();
        average.setLongTermMsgRateIn(Json.number(entry.path("timeAverage"), "rateIn"));
        average.setLongTermMsgRateOut(Json.number(entry.path("timeAverage"), "rateOut"));
        known.setTimeAverageData(average);
        Json.replace(known.getPreallocatedBundleData(), Json.named(entry.path("preallocated"), "bundle", Leader::bundle));
        return known;
    }

    static SystemResourceUsage system(JsonNode entry) {
        var usage = new SystemResourceUsage();
        usage.setCpu(usage(entry, "cpu"));
        usage.setMemory(usage(entry, "memory"));
        usage.setDirectMemory(usage(entry, "directMemory"));
        usage.setBandwidthIn(usage(entry, "bandwidthIn"));
        usage.setBandwidthOut(usage(entry, "bandwidthOut"));
        return usage;
    }

    private static ResourceUsage usage(JsonNode entry, String name) {
        JsonNode pair = entry.path(name);
        return pair.isArray() ? new ResourceUsage(Json.number(pair.get(0)), Json.number(pair.get(1))) : new ResourceUsage();
    }

    static BundleData bundle(JsonNode entry) {
        var made = new BundleData(10, 1000);
        fill(made.getShortTermData(), entry.path("short"));
        fill(made.getLongTermData(), entry.path("long"));
        // One that was reported is none that nobody knows, with the same rates though it may be.
        made.getShortTermData().setNumSamples(1);
        made.getLongTermData().setNumSamples(1);
        made.setTopics(entry.path("topics").asInt());
        return made;
    }

    static void fill(TimeAverageMessageData average, JsonNode rates) {
        average.setMsgRateIn(Json.number(rates, "rateIn"));
        average.setMsgRateOut(Json.number(rates, "rateOut"));
        average.setMsgThroughputIn(Json.number(rates, "thrIn"));
        average.setMsgThroughputOut(Json.number(rates, "thrOut"));
    }
}
