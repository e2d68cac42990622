// A queue in SQLite: typed messages, a worker, a dead letter.
#include <cstdio>
#include <latch>
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Mail {
    std::string to;
    std::string subject;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Mail, to, subject)

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:");  // or sqlite:app.db, postgresql://host/db
    store.install();
    pawl::Queue mails = store.create_queue("mail");

    mails.enqueue(Mail{"ada@example.com", "Welcome"});
    mails.enqueue(Mail{"not an address", "Oops"});
    mails.enqueue(Mail{"alan@example.com", "Read me first"}, {.priority = 5});

    std::latch handled(3);
    pawl::Worker worker =
        pawl::worker("mailer")
            .on_message(
                "mail",
                [&](const Mail& mail) {
                    handled.count_down();
                    if (mail.to.find('@') == std::string::npos)
                        throw pawl::PermanentError("no address: " + mail.to);
                    std::printf("sent '%s' to %s\n", mail.subject.c_str(), mail.to.c_str());
                }
            )
            .concurrency(1)
            .create(store);
    worker.start();
    handled.wait();
    worker.stop();

    for (const pawl::ArchivedMessage& dead : mails.archived(pawl::ArchiveFilter::dead))
        std::printf(
            "dead letter %lld: %s\n", static_cast<long long>(dead.id.value()), dead.reason.c_str()
        );
    std::printf("done: %lld\n", static_cast<long long>(mails.stats().archived));
}
