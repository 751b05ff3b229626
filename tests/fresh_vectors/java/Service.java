import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.resources.PulsarResources;

/** A broker's service of which nothing is started: what the load managers ask it for, and nothing else. */
class Service extends PulsarService {
    protected ServiceConfiguration settings;
    protected PulsarResources resources;

    /** Never run: {@code Json.bare} makes it, as the real constructor starts to build a broker. */
    protected Service(ServiceConfiguration settings) {
        super(settings);
    }

    static Service with(ServiceConfiguration settings) {
        return with(settings, null);
    }

    static Service with(ServiceConfiguration settings, PulsarResources resources) {
        Service made = Json.bare(Service.class);
        made.settings = settings;
        made.resources = resources;
        return made;
    }

    @Override
    public ServiceConfiguration getConfiguration() {
        return settings;
    }

    @Override
    public ServiceConfiguration getConfig() {
        return settings;
    }

    @Override
    public PulsarResources getPulsarResources() {
        return resources;
    }
}
